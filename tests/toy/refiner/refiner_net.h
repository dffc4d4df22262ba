// The network of the toy's second stage.
#pragma once

#include <cstdint>
#include <memory>

#include "larmor/nn/blocks/block.h"

namespace larmor::toy {

/// Says which noise is in a latent. Its last block, `blocks.3.`, is the head.
class RefinerNet final : public nn::Chain {
 public:
  /// `latent_channels` come out, and go in beside `conditions` maps.
  RefinerNet(int64_t latent_channels, int64_t conditions, int64_t channels, c10::Device device);
  /// latent [N, latent_channels, D, H, W], conditions [N, conditions, D, H, W]
  at::Tensor noise_in(const at::Tensor& latent, const at::Tensor& conditions);
};

}  // namespace larmor::toy
