// The last layers of a U-Net: norm, SiLU, convolution.
#pragma once

#include <cstdint>
#include <memory>

#include "larmor/nn/blocks/conv_block.h"
#include "larmor/nn/blocks/group_norm.h"

namespace larmor::nn {

class NormSiluConv final : public Block {
 public:
  /// Weights are named `0.…` and `2.conv.…`, as in a torch.nn.Sequential of the three.
  NormSiluConv(int64_t norm_groups, double norm_epsilon, const ConvShape& shape, c10::Device device);
  at::Tensor forward(const at::Tensor& input) override;

  /// The norm, for a network that has other names for the two: it registers them in place of the block.
  const std::shared_ptr<GroupNorm>& norm() const { return norm_; }
  const std::shared_ptr<ConvBlock>& conv() const { return conv_; }

 private:
  std::shared_ptr<GroupNorm> norm_;
  std::shared_ptr<ConvBlock> conv_;
};

}  // namespace larmor::nn
