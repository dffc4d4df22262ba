#include "larmor/nn/blocks/conv_block.h"

#include <array>

#include "larmor/kernels/convolution/conv3d.h"
#include "larmor/kernels/convolution/group_norm_silu_conv.h"
#include "larmor/nn/blocks/group_norm.h"

namespace larmor::nn {

ConvBlock::ConvBlock(const ConvShape& shape, c10::Device device)
    : shape_(shape),
      conv_(register_module(
          "conv", std::make_shared<LayerWeights>(at::IntArrayRef({shape.out_channels, shape.in_channels,
                                                                  shape.kernel, shape.kernel, shape.kernel}),
                                                 shape.bias, device))) {}

namespace {

std::array<int64_t, 3> on_each_axis(int64_t size) { return {size, size, size}; }

}  // namespace

at::Tensor ConvBlock::forward(const at::Tensor& input) {
  return conv3d(input, weight(), bias(), on_each_axis(shape_.stride), on_each_axis(shape_.padding));
}

at::Tensor ConvBlock::forward_normed(const at::Tensor& input, const GroupNorm& norm) {
  return group_norm_silu_conv(input, norm.weights(), weight(), bias(), on_each_axis(shape_.stride),
                              on_each_axis(shape_.padding));
}

}  // namespace larmor::nn
