// The KL-regularised convolutional autoencoder of latent diffusion, under MONAI's names.
// Source: monai.networks.nets.AutoencoderKL (1.6).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <c10/core/Device.h>
#include <torch/nn/pimpl.h>

#include "larmor/config/fields.h"
#include "larmor/nn/blocks/block.h"
#include "larmor/nn/blocks/conv_block.h"

namespace larmor::nn {

/// MONAI's constructor arguments, by name.
struct AutoencoderKlOptions {
  int64_t spatial_dims = 3;
  int64_t in_channels = 1, out_channels = 1;
  std::vector<int64_t> channels = {64, 128, 256};
  std::vector<int64_t> num_res_blocks = {2};  // one per level, or one for all
  std::vector<bool> attention_levels = {false, false, false};
  int64_t latent_channels = 8;
  int64_t norm_num_groups = 32;
  double norm_eps = 1e-6;
  bool with_encoder_nonlocal_attn = false, with_decoder_nonlocal_attn = false;

  void describe(Fields& f);
  /// Throws Error (usage): lengths that disagree, channels that the norm groups do not divide, …
  void check() const;
  int64_t res_blocks(std::size_t level) const;
  /// Each spatial size has to be a multiple of this: 2^(levels - 1).
  int64_t size_divisor() const;
};

/// What one pass gives.
struct AutoencoderKlOutput {
  at::Tensor reconstruction;  // [N, out, D, H, W], of the sampled latent
  at::Tensor mean, sigma;     // [N, latent, d, h, w]
};

class AutoencoderKlImpl : public torch::nn::Module {
 public:
  /// Throws Error (usage) as `check` does. Draws PyTorch's default initialisation from libtorch's default
  /// generator, in MONAI's order: whoever wants known weights holds a lock and calls torch::manual_seed
  /// first. On c10::kMeta nothing is drawn or stored; such a network has shapes to count and no more.
  explicit AutoencoderKlImpl(const AutoencoderKlOptions& options, c10::Device device = c10::kCPU);

  /// image [N, in, D, H, W]; noise: standard normals shaped like the mean.
  AutoencoderKlOutput forward(const at::Tensor& image, const at::Tensor& noise);
  /// The mean and the standard deviation of the posterior; log-variance clamped to [-30, 20].
  /// Throws Error (usage) when the image's channels or sizes do not fit the network.
  std::pair<at::Tensor, at::Tensor> encode(const at::Tensor& image);
  at::Tensor decode(const at::Tensor& latent);
  /// decode(mean): what validation and predict show.
  at::Tensor reconstruct(const at::Tensor& image);
  /// Shape of the latent for an image's shape.
  std::vector<int64_t> latent_shape(at::IntArrayRef image) const;

 private:
  AutoencoderKlOptions options_;
  std::shared_ptr<Chain> encoder_, decoder_;
  std::shared_ptr<ConvBlock> quant_mean_, quant_log_variance_, post_quant_;
};
TORCH_MODULE(AutoencoderKl);

}  // namespace larmor::nn
