// The residual block of diffusion's U-Nets: a ResBlock whose middle is shifted by the time, channel by
// channel. Source: Ho et al. 2020; monai.networks.nets.diffusion_model_unet.DiffusionUNetResnetBlock (1.6).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "larmor/nn/blocks/conv_block.h"
#include "larmor/nn/blocks/dropout.h"
#include "larmor/nn/blocks/group_norm.h"

namespace larmor::nn {

/// What all blocks of a network have in common.
struct TimeResBlockKind {
  int64_t time_channels;                   // of the time embedding
  int64_t norm_num_groups = 32;            // of both norms
  bool fewer_groups_where_needed = false;  // the most that divide the channels; otherwise they have to
  double norm_epsilon = 1e-6;
  double dropout = 0;               // before the second convolution
  bool starts_as_shortcut = false;  // the second convolution begins at zero
  /// Names of the weights of the time's linear layer and of the shortcut's convolution, and whether those of
  /// a convolution stand one level deeper, under `conv`.
  const char* time_name = "time_emb_proj";
  const char* shortcut_name = "skip_connection";
  bool names_convolutions = true;
  c10::Device device{c10::kCPU};
};

/// What a block does to the resolution, between its first SiLU and its first convolution.
enum class Resampling { none, halved, doubled };

class TimeResBlock final : public torch::nn::Module {
 public:
  /// `path` is where the block stands in its network, as Dropout wants it. Throws Error (usage) where the
  /// dropout cannot be.
  TimeResBlock(const TimeResBlockKind& kind, int64_t in_channels, int64_t out_channels,
               const std::string& path, Resampling resampling = Resampling::none);

  /// input [N, C, D, H, W], skip [N, S, D, H, W] or undefined, with C + S = in_channels, and time
  /// [N, time_channels], give [N, out_channels, D', H', W']. The skip is joined to the input in here: what
  /// is computed again does not keep the two a second time.
  at::Tensor forward(const at::Tensor& input, const at::Tensor& skip, const at::Tensor& time);

 private:
  std::shared_ptr<ConvBlock> conv(const char* name, const ConvShape& shape, const TimeResBlockKind& kind);
  at::Tensor resampled(const at::Tensor& value) const;
  at::Tensor first_half(const at::Tensor& whole) const;   // norm, SiLU, resampling, convolution
  at::Tensor second_half(const at::Tensor& value) const;  // norm, SiLU, dropout, convolution

  Resampling resampling_;
  std::shared_ptr<GroupNorm> norm1_, norm2_;
  std::shared_ptr<ConvBlock> conv1_, conv2_;
  std::shared_ptr<LayerWeights> time_;
  std::shared_ptr<Dropout> dropout_;
  std::shared_ptr<ConvBlock> shortcut_;  // null where the channels stay
};

/// The most groups that divide the channels, at most `most`.
int64_t groups_that_divide(int64_t channels, int64_t most);

}  // namespace larmor::nn
