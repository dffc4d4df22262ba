#include "larmor/kernels/norms/norm_tensors.h"

#include <ATen/ops/empty_like.h>

#include "larmor/base/ensure.h"

namespace larmor::norms {

using at::Tensor;

namespace {

bool lies_as(const Tensor& tensor, const Tensor& like) {
  for (int64_t axis = 0; axis < tensor.dim(); ++axis) {
    if (tensor.size(axis) != 1 && tensor.stride(axis) != like.stride(axis)) return false;
  }
  return true;
}

}  // namespace

bool has_channels_last(const Tensor& tensor) {
  return !tensor.is_contiguous() && tensor.movedim(1, -1).is_contiguous();
}

bool lies_by_voxels(const Tensor& tensor) { return voxels_of(tensor) == 1 || has_channels_last(tensor); }

int64_t row_of(const Tensor& tensor) { return lies_by_voxels(tensor) ? tensor.size(1) : voxels_of(tensor); }

Tensor whole(const Tensor& tensor) {
  if (tensor.is_contiguous() || has_channels_last(tensor)) return tensor;
  return tensor.contiguous(tensor.suggest_memory_format());
}

Tensor laid_out_as(const Tensor& tensor, const Tensor& like) {
  ensure(tensor.sizes() == like.sizes());
  if (tensor.scalar_type() == like.scalar_type() && lies_as(tensor, like)) return tensor;
  return at::empty_like(like).copy_(tensor);
}

bool is_for_loops(const Tensor& input) {
  const at::ScalarType type = input.scalar_type();
  return type == at::kFloat || type == at::kDouble || type == at::kBFloat16;
}

int64_t voxels_of(const Tensor& input) {
  int64_t voxels = 1;
  for (int64_t axis = 2; axis < input.dim(); ++axis) voxels *= input.size(axis);
  return voxels;
}

Tensor widened(const Tensor& channels) {
  return channels.defined() ? channels.to(at::kDouble).contiguous() : channels;
}

Tensor at_least_float32(const Tensor& channels) {
  if (!channels.defined()) return channels;
  return (channels.scalar_type() == at::kDouble ? channels : channels.to(at::kFloat)).contiguous();
}

}  // namespace larmor::norms
