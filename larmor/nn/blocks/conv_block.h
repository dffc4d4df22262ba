// A 3-D convolution whose weights are named `conv.weight` and `conv.bias`.
// Source: monai.networks.blocks.Convolution (conv_only).
#pragma once

#include <cstdint>

#include "larmor/nn/blocks/block.h"
#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::nn {

class GroupNorm;

struct ConvShape {
  int64_t in_channels, out_channels;
  int64_t kernel = 3, stride = 1, padding = 1;
  bool bias = true;
};

class ConvBlock : public Block {
 public:
  /// PyTorch's default initialisation, drawn from libtorch's default generator; nothing on c10::kMeta.
  ConvBlock(const ConvShape& shape, c10::Device device);
  at::Tensor forward(const at::Tensor& input) override;
  /// The convolution of `norm` with SiLU behind it, which backward computes again: the result between the two
  /// is not kept.
  at::Tensor forward_normed(const at::Tensor& input, const GroupNorm& norm);

  /// What stands under `conv`, for a network whose names have no such level: it registers this in place of
  /// the block.
  const std::shared_ptr<LayerWeights>& layer() const { return conv_; }
  const at::Tensor& weight() const { return conv_->weight(); }
  const at::Tensor& bias() const { return conv_->bias(); }

 private:
  ConvShape shape_;
  std::shared_ptr<LayerWeights> conv_;
};

}  // namespace larmor::nn
