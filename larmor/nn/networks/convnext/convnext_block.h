// What a ConvNeXt is built of: convolutions of pictures, a norm over their channels, and its block.
// Source: timm.models.convnext (1.0).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <c10/core/Device.h>

#include "larmor/nn/blocks/block.h"
#include "larmor/nn/blocks/dropout.h"
#include "larmor/nn/blocks/layer_norm.h"
#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::nn {

inline constexpr double convnext_norm_epsilon = 1e-6;
inline constexpr double convnext_deviation = 0.02;  // of weights at the start

/// A convolution as wide as its stride, which cuts the picture into patches; weights `weight` and `bias`.
class PatchConv final : public Block {
 public:
  PatchConv(int64_t in_channels, int64_t out_channels, int64_t patch, c10::Device device);
  /// input [N, C, H, W]
  at::Tensor forward(const at::Tensor& input) override;

 private:
  int64_t patch_;
  at::Tensor weight_, bias_;
};

/// Layer norm over the channels of [N, C, H, W], which comes out in channels-last layout.
class ChannelNorm final : public Block {
 public:
  ChannelNorm(int64_t channels, c10::Device device);
  at::Tensor forward(const at::Tensor& input) override;

 private:
  at::Tensor weight_, bias_;  // [C]
};

/// Depthwise convolution 7, norm, linear, GELU, linear, layer scale, beside a shortcut.
class ConvNextBlock final : public Block {
 public:
  /// `drop` is the probability that an example passes by the shortcut alone.
  ConvNextBlock(int64_t channels, double layer_scale, double drop, const std::string& path,
                c10::Device device);
  at::Tensor forward(const at::Tensor& input) override;

 private:
  std::shared_ptr<LayerWeights> conv_, fc1_, fc2_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Dropout> drop_path_;
  at::Tensor gamma_;  // [C]
};

}  // namespace larmor::nn
