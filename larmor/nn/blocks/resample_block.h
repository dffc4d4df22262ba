// Halving and doubling the resolution, with a convolution that learns how.
// Source: monai.networks.nets.autoencoderkl.AEKLDownsample, monai.networks.blocks.UpSample (1.6).
#pragma once

#include <cstdint>
#include <memory>

#include "larmor/nn/blocks/conv_block.h"

namespace larmor::nn {

/// One voxel of zeros on the high side of each axis, then a convolution of stride 2. Weights: `conv.conv.…`
class Downsample final : public Block {
 public:
  Downsample(int64_t channels, c10::Device device);
  at::Tensor forward(const at::Tensor& input) override;

 private:
  std::shared_ptr<ConvBlock> conv_;
};

/// upsample_conv(). Weights: `postconv.conv.…`
class Upsample final : public Block {
 public:
  Upsample(int64_t channels, c10::Device device);
  at::Tensor forward(const at::Tensor& input) override;

 private:
  std::shared_ptr<ConvBlock> conv_;
};

}  // namespace larmor::nn
