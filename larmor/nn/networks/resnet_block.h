// What the 3-D ResNet is built of: convolutions and norms under MONAI's names, and its two kinds of block.
// Source: monai.networks.nets.resnet (1.6).
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include <c10/core/Device.h>

#include "larmor/nn/blocks/norm_block.h"
#include "larmor/nn/networks/resnet.h"

namespace larmor::nn {

/// What every layer of one network shares.
struct ResNetLayerKind {
  ResNetNorm norm = ResNetNorm::batch;
  int64_t norm_num_groups = 8;
  ResNetShortcut shortcut_type = ResNetShortcut::convolution;
  bool bias_downsample = true;
  c10::Device device = c10::kCPU;
};

struct ResNetConvShape {
  int64_t in_channels, out_channels;
  std::array<int64_t, 3> kernel = {3, 3, 3}, stride = {1, 1, 1};
  bool bias = false;
};

/// A convolution padded by half its kernel, whose weights are named `weight` and `bias`. Weights are drawn
/// Kaiming normal (fan out, ReLU) from libtorch's default generator; the bias starts at zero.
class ResNetConv final : public Block {
 public:
  ResNetConv(const ResNetConvShape& shape, c10::Device device);
  at::Tensor forward(const at::Tensor& input) override;

 private:
  ResNetConvShape shape_;
  at::Tensor weight_, bias_;
};

/// The normalisation of channels: batch norm, or group or instance norm with weight and bias, which have
/// neither running statistics nor a training mode of their own. Its forward throws Error (usage) when the
/// statistics would be those of a single value.
std::shared_ptr<NormBlock> make_resnet_norm(int64_t channels, const ResNetLayerKind& kind, Behind behind);

/// The last layer, under `weight` and `bias`; drawn as the convolutions are.
class ResNetLinear final : public Block {
 public:
  ResNetLinear(int64_t in_features, int64_t out_features, c10::Device device);
  /// input [N, in]
  at::Tensor forward(const at::Tensor& input) override;

 private:
  at::Tensor weight_, bias_;
};

/// A block of `planes` channels: two 3³ convolutions, or for deep networks 1³, 3³, 1³ with four times as many
/// channels at the end. The 3³ convolution that comes first carries the stride.
std::shared_ptr<Block> make_resnet_block(bool bottleneck, int64_t in_channels, int64_t planes, int64_t stride,
                                         const ResNetLayerKind& kind);

}  // namespace larmor::nn
