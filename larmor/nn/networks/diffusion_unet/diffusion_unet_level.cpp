#include "larmor/nn/networks/diffusion_unet/diffusion_unet_level.h"

#include <algorithm>
#include <utility>

#include <torch/nn/modules/container/modulelist.h>

#include "larmor/device/run_block.h"
#include "larmor/nn/blocks/resample_block.h"

namespace larmor::nn {
namespace {

/// A convolution of stride 2. Weights: `op.conv.…`
class StridedConv final : public Block {
 public:
  StridedConv(int64_t channels, c10::Device device)
      : conv_(register_module(
            "op", std::make_shared<ConvBlock>(
                      ConvShape{.in_channels = channels, .out_channels = channels, .stride = 2}, device))) {}
  at::Tensor forward(const at::Tensor& input) override { return conv_->forward(input); }

 private:
  std::shared_ptr<ConvBlock> conv_;
};

at::Tensor take_last(std::vector<at::Tensor>& tensors) {
  at::Tensor last = std::move(tensors.back());
  tensors.pop_back();
  return last;
}

}  // namespace

TimeResBlockKind residual_kind(const DiffusionUnetOptions& options, c10::Device device) {
  return {.time_channels = 4 * options.channels.front(),
          .norm_num_groups = options.norm_num_groups,
          .norm_epsilon = options.norm_eps,
          .starts_as_shortcut = true,
          .device = device};
}

std::shared_ptr<torch::nn::Module> DiffusionUnetAttention::module() const {
  if (own != nullptr) return own;
  return with_context;
}

at::Tensor DiffusionUnetAttention::run(at::Tensor value, const at::Tensor& context) const {
  if (own != nullptr) return run_block(own, std::as_const(value));
  return run_block(with_context, std::as_const(value), context);
}

DiffusionUnetAttention make_attention(const DiffusionUnetOptions& options, int64_t channels,
                                      int64_t head_channels, c10::Device device) {
  if (options.with_conditioning)
    return {.own = nullptr,
            .with_context = std::make_shared<SpatialTransformer>(options, channels, head_channels, device)};
  return {.own = std::make_shared<AttentionBlock>(channels, options.norm_num_groups, options.norm_eps, device,
                                                  channels / head_channels),
          .with_context = nullptr};
}

DiffusionUnetLevel::DiffusionUnetLevel(const DiffusionUnetOptions& options, std::size_t level,
                                       Direction direction, c10::Device device)
    : direction_(direction) {
  if (direction == Direction::down) {
    add_down(options, level, device);
  } else {
    add_up(options, level, device);
  }
  torch::nn::ModuleList residual, attention;
  for (const auto& block : residual_) residual->push_back(block);
  for (const auto& block : attention_) attention->push_back(block.module());
  register_module("resnets", residual);
  register_module("attentions", attention);
}

void DiffusionUnetLevel::add_down(const DiffusionUnetOptions& options, std::size_t level,
                                  c10::Device device) {
  const int64_t out = options.channels[level];
  int64_t in = options.channels[level == 0 ? 0 : level - 1];
  for (int64_t i = 0; i < options.res_blocks(level); ++i)
    add_residual(options, level, std::exchange(in, out), device);
  if (level + 1 < options.channels.size()) add_resampler(options, out, device);
}

void DiffusionUnetLevel::add_up(const DiffusionUnetOptions& options, std::size_t level, c10::Device device) {
  // The way down left a skip for each residual block, and one more that is of the level before, except that
  // of the finest level, which is of the first convolution and as wide.
  const int64_t out = options.channels[level], blocks = options.res_blocks(level) + 1;
  int64_t in = options.channels[std::min(level + 1, options.channels.size() - 1)];
  for (int64_t i = 0; i < blocks; ++i) {
    const bool is_last = i + 1 == blocks;
    const int64_t skip = is_last ? options.channels[level == 0 ? 0 : level - 1] : out;
    add_residual(options, level, std::exchange(in, out) + skip, device);
  }
  if (level > 0) add_resampler(options, out, device);
}

void DiffusionUnetLevel::add_residual(const DiffusionUnetOptions& options, std::size_t level, int64_t in,
                                      c10::Device device) {
  const int64_t out = options.channels[level];
  residual_.push_back(
      std::make_shared<TimeResBlock>(residual_kind(options, device), in, out, /*path=*/"unet"));
  if (!options.attention_levels[level]) return;
  attention_.push_back(make_attention(options, out, options.head_channels(level), device));
}

void DiffusionUnetLevel::add_resampler(const DiffusionUnetOptions& options, int64_t channels,
                                       c10::Device device) {
  const bool is_down = direction_ == Direction::down;
  const char* const name = is_down ? "downsampler" : "upsampler";
  if (options.resblock_updown) {
    residual_resampler_ = register_module(
        name,
        std::make_shared<TimeResBlock>(residual_kind(options, device), channels, channels,
                                       /*path=*/"unet", is_down ? Resampling::halved : Resampling::doubled));
  } else if (is_down) {
    plain_resampler_ = register_module(name, std::make_shared<StridedConv>(channels, device));
  } else {
    plain_resampler_ = register_module(name, std::make_shared<Upsample>(channels, device));
  }
}

at::Tensor DiffusionUnetLevel::pass(at::Tensor value, const at::Tensor& time, const at::Tensor& context,
                                    std::vector<at::Tensor>& skips) const {
  const bool is_down = direction_ == Direction::down;
  const at::Tensor no_skip;
  for (std::size_t i = 0; i < residual_.size(); ++i) {
    const at::Tensor skip = is_down ? no_skip : take_last(skips);
    value = run_block(residual_[i], std::as_const(value), skip, time);
    if (!attention_.empty()) value = attention_[i].run(std::move(value), context);
    if (is_down) skips.push_back(value);
  }
  if (plain_resampler_ != nullptr) {
    value = run_block(plain_resampler_, std::as_const(value));
  } else if (residual_resampler_ != nullptr) {
    value = run_block(residual_resampler_, std::as_const(value), no_skip, time);
  } else {
    return value;
  }
  if (is_down) skips.push_back(value);
  return value;
}

DiffusionUnetMiddle::DiffusionUnetMiddle(const DiffusionUnetOptions& options, c10::Device device) {
  const int64_t channels = options.channels.back();
  const auto residual = [&] {
    return std::make_shared<TimeResBlock>(residual_kind(options, device), channels, channels,
                                          /*path=*/"unet");
  };
  first_ = register_module("resnet_1", residual());
  attention_ = make_attention(options, channels, options.head_channels(options.channels.size() - 1), device);
  register_module("attention", attention_.module());
  second_ = register_module("resnet_2", residual());
}

at::Tensor DiffusionUnetMiddle::pass(at::Tensor value, const at::Tensor& time,
                                     const at::Tensor& context) const {
  const at::Tensor no_skip;
  value = run_block(first_, std::as_const(value), no_skip, time);
  value = attention_.run(std::move(value), context);
  return run_block(second_, std::as_const(value), no_skip, time);
}

}  // namespace larmor::nn
