#include "larmor/nn/blocks/conv_block.h"

#include <array>

#include "larmor/kernels/conv3d.h"

namespace larmor::nn {

ConvBlock::ConvBlock(const ConvShape& shape, c10::Device device)
    : shape_(shape),
      conv_(register_module(
          "conv", std::make_shared<LayerWeights>(at::IntArrayRef({shape.out_channels, shape.in_channels,
                                                                  shape.kernel, shape.kernel, shape.kernel}),
                                                 shape.bias, device))) {}

at::Tensor ConvBlock::forward(const at::Tensor& input) {
  const auto same = [](int64_t size) { return std::array<int64_t, 3>{size, size, size}; };
  return conv3d(input, weight(), bias(), same(shape_.stride), same(shape_.padding));
}

}  // namespace larmor::nn
