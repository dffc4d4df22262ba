#include "larmor/nn/blocks/resample_block.h"

#include <ATen/ops/constant_pad_nd.h>

#include "larmor/kernels/convolution/upsample_conv.h"

namespace larmor::nn {

Downsample::Downsample(int64_t channels, c10::Device device) {
  const ConvShape shape{.in_channels = channels, .out_channels = channels, .stride = 2, .padding = 0};
  conv_ = register_module("conv", std::make_shared<ConvBlock>(shape, device));
}

at::Tensor Downsample::forward(const at::Tensor& input) {
  return conv_->forward(at::constant_pad_nd(input, {0, 1, 0, 1, 0, 1}));
}

Upsample::Upsample(int64_t channels, c10::Device device)
    : conv_(register_module("postconv", std::make_shared<ConvBlock>(ConvShape{channels, channels}, device))) {
}

at::Tensor Upsample::forward(const at::Tensor& input) {
  return upsample_conv(input, conv_->weight(), conv_->bias());
}

}  // namespace larmor::nn
