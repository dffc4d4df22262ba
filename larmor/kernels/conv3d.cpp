#include "larmor/kernels/conv3d.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/mkldnn_convolution.h>

namespace larmor {
namespace {

using PerAxis = std::array<int64_t, 3>;

constexpr int64_t longest_kernel_right_in_float32 = 5;

bool is_autocast(const at::Tensor& input) {
  return input.is_cpu() && at::autocast::is_autocast_enabled(at::kCPU);
}

// On the meta device too, where memory is counted.
bool may_be_wrong(const at::Tensor& input, const at::Tensor& weight) {
  if (!input.is_cpu() && !input.is_meta()) return false;
  const int64_t longest_right = is_autocast(input) ? 1 : longest_kernel_right_in_float32;
  for (const int64_t axis : {2, 3, 4}) {
    if (weight.size(axis) > longest_right && input.size(axis) <= weight.size(axis)) return true;
  }
  return false;
}

// A single sample with few voxels libtorch convolves by a path of its own (im2col and a product of matrices),
// which makes a step at micro-batch 1 a third longer than it need be. Under autocast the choice stays
// libtorch's, which casts the operators that it knows.
bool is_for_one_dnn(const at::Tensor& input) {
  return input.is_cpu() && input.scalar_type() == at::kFloat && !is_autocast(input);
}

at::Tensor convolve(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                    const PerAxis& stride, const PerAxis& padding) {
  if (!is_for_one_dnn(input)) return at::conv3d(input, weight, bias, stride, padding);
  return at::mkldnn_convolution(input.contiguous(), weight, bias, padding, stride, PerAxis{1, 1, 1},
                                /*groups=*/1);
}

}  // namespace

at::Tensor conv3d(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                  const PerAxis& stride, const PerAxis& padding) {
  if (!may_be_wrong(input, weight)) return convolve(input, weight, bias, stride, padding);
  const auto [depth, height, width] = padding;
  const at::Tensor padded = at::constant_pad_nd(input, {width, width, height, height, depth, depth});
  return convolve(padded, weight, bias, stride, {0, 0, 0});
}

}  // namespace larmor
