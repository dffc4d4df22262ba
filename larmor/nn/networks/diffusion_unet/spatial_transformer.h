// Attention among voxels and from voxels to a context, beside a shortcut.
// Source: monai.networks.nets.diffusion_model_unet.SpatialTransformer (1.6); Rombach et al. 2022.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "larmor/nn/blocks/conv_block.h"
#include "larmor/nn/blocks/group_norm.h"
#include "larmor/nn/networks/diffusion_unet/diffusion_unet.h"

namespace larmor::nn {

class SpatialTransformer final : public torch::nn::Module {
 public:
  /// The last convolution begins at zero. Requires: `head_channels` divides channels.
  SpatialTransformer(const DiffusionUnetOptions& options, int64_t channels, int64_t head_channels,
                     c10::Device device);
  /// input [N, C, D, H, W], context [N, tokens, cross_attention_dim].
  at::Tensor forward(const at::Tensor& input, const at::Tensor& context);

 private:
  class Layer;
  std::shared_ptr<GroupNorm> norm_;
  std::shared_ptr<ConvBlock> in_, out_;
  std::vector<std::shared_ptr<Layer>> layers_;
};

}  // namespace larmor::nn
