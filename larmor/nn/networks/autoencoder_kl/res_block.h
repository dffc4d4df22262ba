// The residual block of the autoencoder: twice norm, SiLU, convolution, beside a shortcut.
// Source: monai.networks.nets.autoencoderkl.AEKLResBlock (1.6).
#pragma once

#include <cstdint>
#include <memory>

#include "larmor/nn/blocks/conv_block.h"
#include "larmor/nn/blocks/group_norm.h"

namespace larmor::nn {

class ResBlock final : public Block {
 public:
  ResBlock(int64_t in_channels, int64_t out_channels, int64_t norm_groups, double norm_epsilon,
           c10::Device device);
  at::Tensor forward(const at::Tensor& input) override;

 private:
  std::shared_ptr<GroupNorm> norm1_, norm2_;
  std::shared_ptr<ConvBlock> conv1_, conv2_;
  std::shared_ptr<ConvBlock> shortcut_;  // null where the channels stay
};

}  // namespace larmor::nn
