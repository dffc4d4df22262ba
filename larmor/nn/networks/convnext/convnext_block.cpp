#include "larmor/nn/networks/convnext/convnext_block.h"

#include <array>

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "larmor/device/initialisation.h"
#include "larmor/kernels/convolution/conv2d.h"
#include "larmor/kernels/convolution/depthwise_conv.h"

namespace larmor::nn {
namespace {

constexpr int64_t depthwise_kernel = 7;
constexpr int64_t convnext_expansion = 4;

at::Tensor channels_behind(const at::Tensor& picture) { return picture.permute({0, 2, 3, 1}); }
at::Tensor channels_in_front(const at::Tensor& picture) { return picture.permute({0, 3, 1, 2}); }

}  // namespace

PatchConv::PatchConv(int64_t in_channels, int64_t out_channels, int64_t patch, c10::Device device)
    : patch_(patch),
      weight_(register_parameter("weight", at::empty({out_channels, in_channels, patch, patch}, device))),
      bias_(register_parameter("bias", at::zeros(out_channels, device))) {
  initialise_normal(weight_, 0, convnext_deviation);
}

at::Tensor PatchConv::forward(const at::Tensor& input) {
  return conv2d(input, weight_, bias_, {patch_, patch_}, {0, 0});
}

ChannelNorm::ChannelNorm(int64_t channels, c10::Device device)
    : weight_(register_parameter("weight", at::ones(channels, device))),
      bias_(register_parameter("bias", at::zeros(channels, device))) {}

at::Tensor ChannelNorm::forward(const at::Tensor& input) {
  return channels_in_front(layer_norm(channels_behind(input), weight_, bias_, convnext_norm_epsilon));
}

ConvNextBlock::ConvNextBlock(int64_t channels, double layer_scale, double drop, const std::string& path,
                             c10::Device device) {
  const std::array<int64_t, 4> kernel{channels, 1, depthwise_kernel, depthwise_kernel};
  conv_ = register_module("conv_dw", std::make_shared<LayerWeights>(kernel, /*has_bias=*/true, device));
  norm_ = register_module("norm", std::make_shared<LayerNorm>(channels, device, convnext_norm_epsilon));
  const auto mlp = register_module("mlp", std::make_shared<torch::nn::Module>());
  const int64_t inner = convnext_expansion * channels;
  fc1_ = mlp->register_module("fc1", linear_weights(channels, inner, /*has_bias=*/true, device));
  fc2_ = mlp->register_module("fc2", linear_weights(inner, channels, /*has_bias=*/true, device));
  for (const auto& layer : {conv_, fc1_, fc2_}) layer->draw_normal(convnext_deviation);
  gamma_ = register_parameter("gamma", at::full(channels, layer_scale, device));
  drop_path_ = register_module("drop_path", std::make_shared<Dropout>(drop, path));
}

at::Tensor ConvNextBlock::forward(const at::Tensor& input) {
  const at::Tensor mixed = depthwise_conv(input, conv_->weight(), conv_->bias());
  at::Tensor value = norm_->forward(channels_behind(mixed));
  value = linear(at::gelu(linear(value, *fc1_)), *fc2_) * gamma_;
  if (drop_path_->drops())  // one draw an example
    value = value * drop_path_->forward(at::ones({input.size(0), 1, 1, 1}, value.options()));
  return input + channels_in_front(value);
}

}  // namespace larmor::nn
