#include "larmor/nn/blocks/conv_block.h"

#include <array>

#include "larmor/device/conv3d.h"

namespace larmor::nn {

ConvBlock::ConvBlock(const ConvShape& shape)
    : shape_(shape),
      conv_(register_module("conv", torch::nn::Conv3d(torch::nn::Conv3dOptions(
                                                          shape.in_channels, shape.out_channels, shape.kernel)
                                                          .stride(shape.stride)
                                                          .padding(shape.padding)
                                                          .bias(shape.bias)))) {}

at::Tensor ConvBlock::forward(const at::Tensor& input) {
  const auto same = [](int64_t size) { return std::array<int64_t, 3>{size, size, size}; };
  return conv3d(input, conv_->weight, conv_->bias, same(shape_.stride), same(shape_.padding));
}

}  // namespace larmor::nn
