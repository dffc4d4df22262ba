// The U-Net that predicts what a sampler asks for (noise, image or velocity) at a time step, under MONAI's
// names. Source: monai.networks.nets.DiffusionModelUNet (1.6); Ho et al. 2020; Rombach et al. 2022.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <c10/core/Device.h>
#include <torch/nn/pimpl.h>

#include "larmor/config/fields.h"
#include "larmor/nn/blocks/block.h"

namespace larmor::nn {

class ConvBlock;
class NormSiluConv;
class TimeEmbedding;
class DiffusionUnetLevel;
class DiffusionUnetMiddle;

/// MONAI's constructor arguments, by name. Lists have one entry a level, from the finest to the coarsest.
struct DiffusionUnetOptions {
  int64_t spatial_dims = 3;
  int64_t in_channels = 8, out_channels = 8;
  std::vector<int64_t> channels = {256, 256, 512};
  std::vector<int64_t> num_res_blocks = {2};  // one per level, or one for all
  std::vector<bool> attention_levels = {false, true, true};
  /// Channels of an attention head, one per level or one for all; 0 where a level has no attention. The
  /// last one is also that of the middle, which always has attention.
  std::vector<int64_t> num_head_channels = {0, 64, 64};
  int64_t norm_num_groups = 32;
  double norm_eps = 1e-6;
  bool resblock_updown = false;  // resolution changes inside residual blocks
  /// Attention attends to a context, too; needs cross_attention_dim, the width of a token of the context.
  bool with_conditioning = false;
  int64_t cross_attention_dim = 0;
  int64_t transformer_num_layers = 1;

  void describe(Fields& f);
  /// Throws Error (usage): lengths that disagree, channels that groups or heads do not divide, …
  void check() const;
  int64_t res_blocks(std::size_t level) const;
  int64_t head_channels(std::size_t level) const;
  /// Each spatial size of the input has to be a multiple of this: 2^(levels - 1).
  int64_t size_divisor() const;
};

class DiffusionUnetImpl : public torch::nn::Module {
 public:
  /// Throws Error (usage) as `check` does. Draws PyTorch's default initialisation from libtorch's default
  /// generator; the last convolution of each residual block and of the network is zero. On c10::kMeta
  /// nothing is drawn or stored; such a network has shapes to count and no more.
  explicit DiffusionUnetImpl(const DiffusionUnetOptions& options, c10::Device device = c10::kCPU);

  /// noisy [N, in, D, H, W], times [N] (integers or not), context [N, tokens, cross_attention_dim] where the
  /// network is conditioned and undefined otherwise; gives [N, out, D, H, W]. Throws Error (data) when
  /// channels or sizes do not fit the network.
  at::Tensor forward(const at::Tensor& noisy, const at::Tensor& times, const at::Tensor& context = {});
  /// The same with sinusoids of the times, [N, channels[0]], that come from elsewhere (sinusoidal_embedding).
  at::Tensor forward_embedded(const at::Tensor& noisy, const at::Tensor& sinusoids,
                              const at::Tensor& context = {});

  const DiffusionUnetOptions& options() const { return options_; }

 private:
  void check_input(const at::Tensor& noisy, const at::Tensor& context) const;

  DiffusionUnetOptions options_;
  std::shared_ptr<ConvBlock> conv_in_;
  std::shared_ptr<TimeEmbedding> time_embed_;
  std::vector<std::shared_ptr<DiffusionUnetLevel>> down_, up_;  // in the order of a pass
  std::shared_ptr<DiffusionUnetMiddle> middle_;
  std::shared_ptr<NormSiluConv> out_;
};
TORCH_MODULE(DiffusionUnet);

}  // namespace larmor::nn
