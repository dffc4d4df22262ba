// How tensors lie that norms read and write, and the numbers of channels that belong to them.
#pragma once

#include <algorithm>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "larmor/kernels/norms/group_norm_silu_cpu.h"
#include "larmor/kernels/parallel_loop.h"

namespace larmor::norms {

bool has_channels_last(const at::Tensor& tensor);
/// Whether a voxel's channels lie side by side, as those of a single voxel do in both layouts.
bool lies_by_voxels(const at::Tensor& tensor);
/// Elements that lie side by side: a voxel's channels, or a channel's voxels.
int64_t row_of(const at::Tensor& tensor);
/// The tensor itself where it is whole in memory, with channels first or last.
at::Tensor whole(const at::Tensor& tensor);
/// The tensor with the type and layout of `like`; itself where it has them. Axes of one element lie anyhow.
at::Tensor laid_out_as(const at::Tensor& tensor, const at::Tensor& like);
/// The CPU's loops know float64, float32 and bfloat16. What else there is, is computed in float32.
bool is_for_loops(const at::Tensor& input);
/// Values of a channel in a sample: the product of all axes behind the second.
int64_t voxels_of(const at::Tensor& input);
/// [C] in float64, as loops take it; an undefined one stays so.
at::Tensor widened(const at::Tensor& channels);
/// [C] in float64 or float32, as kernels of GPUs read it; an undefined one stays so.
at::Tensor at_least_float32(const at::Tensor& channels);

/// Calls visit(an element of the input's type), for the type alone.
template <class Visit>
void visit_element(const at::Tensor& input, const Visit& visit) {
  if (input.scalar_type() == at::kDouble) {
    visit(double{});
  } else if (input.scalar_type() == at::kFloat) {
    visit(float{});
  } else {
    visit(group_norms::Bfloat16{});
  }
}

template <class Element>
const Element* elements_of(const at::Tensor& tensor) {
  return static_cast<const Element*>(tensor.const_data_ptr());
}

template <class Element>
Element* places_in(const at::Tensor& tensor) {
  return static_cast<Element*>(tensor.mutable_data_ptr());
}

/// Calls body(first, end) for all pieces, on as many threads as libtorch has. What is small stays on one.
template <class Body>
void for_pieces(const group_norms::Pieces& pieces, const Body& body) {
  constexpr int64_t elements_of_a_thread = 1 << 14;
  const int64_t elements = pieces.count() > 0 ? pieces.at(0).elements : 1;
  parallel_loop(0, pieces.count(),
                std::max<int64_t>(elements_of_a_thread / std::max<int64_t>(elements, 1), 1), body);
}

}  // namespace larmor::norms
