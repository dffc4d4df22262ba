// How tensors lie that norms read and write, and the numbers of channels that belong to them.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include "larmor/kernels/group_norm_silu_cpu.h"

namespace larmor::norms {

bool has_channels_last(const at::Tensor& tensor);
/// The tensor itself where it is whole in memory, with channels first or last.
at::Tensor whole(const at::Tensor& tensor);
/// With the type and layout of `like`; itself where it has them. Axes of one element lie anyhow.
at::Tensor laid_out_as(const at::Tensor& tensor, const at::Tensor& like);
/// The CPU's loops know float64, float32 and bfloat16. What else there is, is computed in float32.
bool is_for_loops(const at::Tensor& input);
/// Values of a channel in a sample: the product of all axes behind the second.
int64_t voxels_of(const at::Tensor& input);
/// [C] in float64, as loops take it; an undefined one stays so.
at::Tensor widened(const at::Tensor& channels);

/// Calls body(first, end) for all pieces, on as many threads as libtorch has.
template <class Body>
void for_pieces(const group_norms::Pieces& pieces, const Body& body) {
  at::parallel_for(0, pieces.count(), /*grain_size=*/1, body);
}

}  // namespace larmor::norms
