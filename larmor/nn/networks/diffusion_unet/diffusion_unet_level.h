// The levels of a DiffusionUnet, and its middle.
#pragma once

#include <memory>
#include <vector>

#include "larmor/nn/blocks/attention_block.h"
#include "larmor/nn/blocks/time_res_block.h"
#include "larmor/nn/networks/diffusion_unet/diffusion_unet.h"
#include "larmor/nn/networks/diffusion_unet/spatial_transformer.h"

namespace larmor::nn {

TimeResBlockKind residual_kind(const DiffusionUnetOptions& options, c10::Device device);

/// What attends behind a residual block: one of the two, or none.
struct DiffusionUnetAttention {
  std::shared_ptr<AttentionBlock> own;
  std::shared_ptr<SpatialTransformer> with_context;

  std::shared_ptr<torch::nn::Module> module() const;
  at::Tensor run(at::Tensor value, const at::Tensor& context) const;
};
DiffusionUnetAttention make_attention(const DiffusionUnetOptions& options, int64_t channels,
                                      int64_t head_channels, c10::Device device);

enum class Direction { down, up };

/// Residual blocks of one resolution, each with its attention, and the change to the next resolution.
/// Weights: `resnets.j.…`, `attentions.j.…`, `downsampler.…` or `upsampler.…`
class DiffusionUnetLevel final : public torch::nn::Module {
 public:
  DiffusionUnetLevel(const DiffusionUnetOptions& options, std::size_t level, Direction direction,
                     c10::Device device);
  /// value [N, C, D, H, W] to that of the next level. On the way down, what each step gives is put on
  /// `skips`; on the way up, each residual block takes one off.
  at::Tensor pass(at::Tensor value, const at::Tensor& time, const at::Tensor& context,
                  std::vector<at::Tensor>& skips) const;

 private:
  void add_down(const DiffusionUnetOptions& options, std::size_t level, c10::Device device);
  void add_up(const DiffusionUnetOptions& options, std::size_t level, c10::Device device);
  void add_residual(const DiffusionUnetOptions& options, std::size_t level, int64_t in, c10::Device device);
  void add_resampler(const DiffusionUnetOptions& options, int64_t channels, c10::Device device);

  Direction direction_;
  std::vector<std::shared_ptr<TimeResBlock>> residual_;
  std::vector<DiffusionUnetAttention> attention_;  // one a residual block, or none at all
  // What changes the resolution: one of the two, or none in the last level of a direction.
  std::shared_ptr<Block> plain_resampler_;
  std::shared_ptr<TimeResBlock> residual_resampler_;
};

/// Residual block, attention, residual block. Weights: `resnet_1.…`, `attention.…`, `resnet_2.…`
class DiffusionUnetMiddle final : public torch::nn::Module {
 public:
  DiffusionUnetMiddle(const DiffusionUnetOptions& options, c10::Device device);
  at::Tensor pass(at::Tensor value, const at::Tensor& time, const at::Tensor& context) const;

 private:
  std::shared_ptr<TimeResBlock> first_, second_;
  DiffusionUnetAttention attention_;
};

}  // namespace larmor::nn
