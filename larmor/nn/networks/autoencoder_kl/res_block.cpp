#include "larmor/nn/networks/autoencoder_kl/res_block.h"

namespace larmor::nn {

ResBlock::ResBlock(int64_t in_channels, int64_t out_channels, int64_t norm_groups, double norm_epsilon,
                   c10::Device device) {
  norm1_ =
      register_module("norm1", std::make_shared<GroupNorm>(norm_groups, in_channels, norm_epsilon, device));
  conv1_ =
      register_module("conv1", std::make_shared<ConvBlock>(ConvShape{in_channels, out_channels}, device));
  norm2_ =
      register_module("norm2", std::make_shared<GroupNorm>(norm_groups, out_channels, norm_epsilon, device));
  conv2_ =
      register_module("conv2", std::make_shared<ConvBlock>(ConvShape{out_channels, out_channels}, device));
  if (in_channels != out_channels) {
    const ConvShape pointwise{
        .in_channels = in_channels, .out_channels = out_channels, .kernel = 1, .padding = 0};
    shortcut_ = register_module("nin_shortcut", std::make_shared<ConvBlock>(pointwise, device));
  }
}

at::Tensor ResBlock::forward(const at::Tensor& input) {
  at::Tensor value = conv1_->forward(norm1_->forward_silu(input));
  value = conv2_->forward(norm2_->forward_silu(value));
  // In place: backward needs neither the convolution's result nor the sum.
  return value.add_(shortcut_ ? shortcut_->forward(input) : input);
}

}  // namespace larmor::nn
