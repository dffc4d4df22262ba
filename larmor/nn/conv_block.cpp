#include "larmor/nn/conv_block.h"

#include <array>

#include <ATen/autocast_mode.h>
#include <ATen/ops/mkldnn_convolution.h>

#include "larmor/device/conv3d.h"

namespace larmor::nn {

namespace {

// A single sample with few voxels libtorch convolves by a path of its own (im2col and a product of matrices),
// which makes a step at micro-batch 1 a third longer than it need be. Under autocast the choice stays
// libtorch's, which casts the operators that it knows.
bool is_for_one_dnn(const at::Tensor& input) {
  return input.is_cpu() && input.scalar_type() == at::kFloat && !at::autocast::is_autocast_enabled(at::kCPU);
}

}  // namespace

ConvBlock::ConvBlock(const ConvShape& shape)
    : shape_(shape),
      conv_(register_module("conv", torch::nn::Conv3d(torch::nn::Conv3dOptions(
                                                          shape.in_channels, shape.out_channels, shape.kernel)
                                                          .stride(shape.stride)
                                                          .padding(shape.padding)
                                                          .bias(shape.bias)))) {}

at::Tensor ConvBlock::forward(const at::Tensor& input) {
  const auto same = [](int64_t size) { return std::array<int64_t, 3>{size, size, size}; };
  if (is_for_one_dnn(input)) {
    return at::mkldnn_convolution(input.contiguous(), conv_->weight, conv_->bias, same(shape_.padding),
                                  same(shape_.stride), same(1), /*groups=*/1);
  }
  return conv3d(input, conv_->weight, conv_->bias, same(shape_.stride), same(shape_.padding));
}

}  // namespace larmor::nn
