// The U-Net of Fast-DDPM in three dimensions: DDPM's, without attention, under the names of its 3-D fork.
// Source: Ho et al. 2020; Jiang et al. 2025 (Fast-DDPM).
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
class FastDdpmLevel;
class LinearSkip;
class NormSiluConv;
class TimeEmbedding;
class TimeResBlock;

/// The fork's keys, by name.
struct FastDdpmUnetOptions {
  int64_t in_channels = 4, out_ch = 1;
  int64_t ch = 64;                           // feature channels of the finest level
  std::vector<int64_t> ch_mult = {1, 2, 4};  // of each level, times ch
  int64_t num_res_blocks = 2;
  double dropout = 0.1;
  bool linear_skip = false;  // whether there is linear_guess()

  void describe(Fields& f);
  /// Throws Error (usage) for what makes no network.
  void check() const;
  int64_t channels(std::size_t level) const { return ch * ch_mult.at(level); }
  /// Each spatial size of the input has to be a multiple of this: 2^(levels - 1).
  int64_t size_divisor() const;
};

class FastDdpmUnetImpl : public torch::nn::Module {
 public:
  /// Throws Error (usage) as `check` does. Draws PyTorch's default initialisation from libtorch's default
  /// generator. On c10::kMeta nothing is drawn or stored; such a network has shapes to count and no more.
  explicit FastDdpmUnetImpl(const FastDdpmUnetOptions& options, c10::Device device = c10::kCPU);

  /// noisy [N, in_channels, D, H, W] and times [N] give [N, out_ch, D, H, W]. Throws Error (data) when
  /// channels or sizes do not fit the network.
  at::Tensor forward(const at::Tensor& noisy, const at::Tensor& times);
  /// A learned linear combination of a row's other channels, for the one that is_target [N, in_channels] bool
  /// marks: [N, 1, D, H, W]. It is 0 in a new network. The reference has no such weights (`skip.weight`
  /// [target, channel], `skip.bias` [target]). Requires: options().linear_skip
  at::Tensor linear_guess(const at::Tensor& image, const at::Tensor& is_target);

  const FastDdpmUnetOptions& options() const { return options_; }

 private:
  void add_down(c10::Device device);
  void add_middle(c10::Device device);
  void add_up(c10::Device device);
  void check_input(const at::Tensor& noisy) const;

  FastDdpmUnetOptions options_;
  std::shared_ptr<TimeEmbedding> time_;
  std::shared_ptr<ConvBlock> conv_in_;
  std::vector<std::shared_ptr<FastDdpmLevel>> down_, up_;  // in the order of a pass
  std::vector<std::shared_ptr<TimeResBlock>> middle_;
  std::shared_ptr<NormSiluConv> out_;
  std::shared_ptr<LinearSkip> skip_;  // null without linear_skip
};
TORCH_MODULE(FastDdpmUnet);

}  // namespace larmor::nn
