// Self-attention over all voxels, beside a shortcut.
// Source: monai.networks.blocks.SpatialAttentionBlock (1.6).
#pragma once

#include <cstdint>
#include <memory>

#include "larmor/nn/blocks/group_norm.h"

namespace larmor::nn {

class AttentionBlock final : public Block {
 public:
  /// Requires: `heads` divides channels.
  AttentionBlock(int64_t channels, int64_t norm_groups, double norm_epsilon, c10::Device device,
                 int64_t heads = 1);
  at::Tensor forward(const at::Tensor& input) override;

 private:
  class SelfAttention;
  std::shared_ptr<GroupNorm> norm_;
  std::shared_ptr<SelfAttention> attention_;
};

}  // namespace larmor::nn
