#include "larmor/device/conv3d.h"

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv3d.h>

namespace larmor {
namespace {

// On the meta device too, where memory is counted.
bool may_be_wrong(const at::Tensor& input, const at::Tensor& weight) {
  if (!input.is_cpu() && !input.is_meta()) return false;
  for (const int64_t axis : {2, 3, 4}) {
    if (weight.size(axis) > 1 && input.size(axis) <= weight.size(axis)) return true;
  }
  return false;
}

}  // namespace

at::Tensor conv3d(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                  const std::array<int64_t, 3>& stride, const std::array<int64_t, 3>& padding) {
  if (!may_be_wrong(input, weight)) return at::conv3d(input, weight, bias, stride, padding);
  const auto [depth, height, width] = padding;
  const at::Tensor padded = at::constant_pad_nd(input, {width, width, height, height, depth, depth});
  return at::conv3d(padded, weight, bias, stride);
}

}  // namespace larmor
