#include "larmor/nn/networks/fast_ddpm_unet.h"

#include <algorithm>
#include <string>
#include <utility>

#include <torch/nn/modules/container/modulelist.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/run_block.h"
#include "larmor/device/send.h"
#include "larmor/kernels/convolution/upsample_conv.h"
#include "larmor/nn/blocks/norm_silu_conv.h"
#include "larmor/nn/blocks/shape_text.h"
#include "larmor/nn/blocks/time_embedding.h"
#include "larmor/nn/blocks/time_res_block.h"

namespace larmor::nn {
namespace {

constexpr int64_t most_norm_groups = 32;
constexpr double fast_ddpm_norm_epsilon = 1e-6;
constexpr int64_t time_factor = 4;  // channels of the time embedding, per channel of the finest level

/// upsample_conv(). Weights: `conv.…`
class DoubledConv final : public ConvBlock {
 public:
  using ConvBlock::ConvBlock;
  at::Tensor forward(const at::Tensor& input) override { return upsample_conv(input, weight(), bias()); }
};

TimeResBlockKind fast_ddpm_kind(const FastDdpmUnetOptions& options, c10::Device device) {
  return {.time_channels = time_factor * options.ch,
          .norm_num_groups = most_norm_groups,
          .fewer_groups_where_needed = true,
          .norm_epsilon = fast_ddpm_norm_epsilon,
          .dropout = options.dropout,
          .time_name = "temb_proj",
          .shortcut_name = "nin_shortcut",
          .names_convolutions = false,
          .device = device};
}

FastDdpmUnetOptions checked_fast_ddpm(const FastDdpmUnetOptions& options) {
  options.check();
  return options;
}

}  // namespace

/// Residual blocks of one resolution, and the change to the next one. Weights: `block.j.…`, and
/// `downsample.conv.…` or `upsample.conv.…`
class FastDdpmLevel final : public torch::nn::Module {
 public:
  /// `resampler` null: the resolution stays.
  FastDdpmLevel(std::vector<std::shared_ptr<TimeResBlock>> blocks, const char* resampler_name,
                std::shared_ptr<ConvBlock> resampler)
      : blocks_(std::move(blocks)), resampler_(std::move(resampler)) {
    torch::nn::ModuleList list;
    for (const auto& block : blocks_) list->push_back(block);
    register_module("block", list);
    if (resampler_ != nullptr) register_module(resampler_name, resampler_);
  }

  /// Leaves on `skips` what each step gives.
  at::Tensor pass_down(at::Tensor value, const at::Tensor& time, std::vector<at::Tensor>& skips) const {
    const at::Tensor no_skip;
    for (const auto& block : blocks_) {
      value = run_block(block, std::as_const(value), no_skip, time);
      skips.push_back(value);
    }
    if (resampler_ == nullptr) return value;
    value = run_block(resampler_, std::as_const(value));
    skips.push_back(value);
    return value;
  }

  /// Takes a skip for each residual block.
  at::Tensor pass_up(at::Tensor value, const at::Tensor& time, std::vector<at::Tensor>& skips) const {
    for (const auto& block : blocks_) {
      const at::Tensor skip = std::move(skips.back());
      skips.pop_back();
      value = run_block(block, std::as_const(value), skip, time);
    }
    return resampler_ == nullptr ? value : run_block(resampler_, std::as_const(value));
  }

 private:
  std::vector<std::shared_ptr<TimeResBlock>> blocks_;
  std::shared_ptr<ConvBlock> resampler_;
};

/// The weights of linear_guess().
class LinearSkip final : public torch::nn::Module {
 public:
  LinearSkip(int64_t channels, c10::Device device)
      : weight_(register_parameter("weight", at::zeros({channels, channels}, device))),
        bias_(register_parameter("bias", at::zeros({channels}, device))) {}

  at::Tensor forward(const at::Tensor& image, const at::Tensor& is_target) {
    const at::Tensor row = is_target.to(weight_.scalar_type());
    const at::Tensor factors = at::matmul(row, weight_) * (1 - row), offset = at::matmul(row, bias_);
    return (image * factors.unflatten(1, {-1, 1, 1, 1})).sum(1, /*keepdim=*/true) +
           offset.reshape({-1, 1, 1, 1, 1});
  }

 private:
  at::Tensor weight_, bias_;
};

void FastDdpmUnetOptions::describe(Fields& f) {
  f.field("in_channels", in_channels, "channels of the input: one a modality", at_least_one);
  f.field("out_ch", out_ch, "channels of what the network predicts", at_least_one);
  f.field("ch", ch, "feature channels of the finest level", Range{4});
  f.field("ch_mult", ch_mult, "channels of each level, times ch; each level halves the resolution",
          at_least_one);
  f.field("num_res_blocks", num_res_blocks, "residual blocks of each level", at_least_one);
  f.field("dropout", dropout, "share of features dropped in each residual block", Range{0, 0.99});
  f.field("linear_skip", linear_skip,
          "starts from a learned linear combination of the given channels: for few cases; with "
          "prediction_type=sample");
}

void FastDdpmUnetOptions::check() const {
  if (ch_mult.empty() || ch_mult.size() > 16)
    fail(Exit::usage, text("model.ch_mult has ", ch_mult.size(), " levels"),
         "give one factor for each level, [1, 2, 4] say");
  const bool fits = in_channels >= 1 && out_ch >= 1 && ch >= 4 && num_res_blocks >= 1 &&
                    std::ranges::all_of(ch_mult, [](int64_t factor) { return factor >= 1; });
  if (!fits)
    fail(Exit::usage,
         text("the network cannot have model.in_channels=", in_channels, ", out_ch=", out_ch, ", ch=", ch,
              ", num_res_blocks=", num_res_blocks, " with these model.ch_mult"),
         "set ch to 4 or more, and the others to 1 or more");
}

int64_t FastDdpmUnetOptions::size_divisor() const { return int64_t{1} << (ch_mult.size() - 1); }

FastDdpmUnetImpl::FastDdpmUnetImpl(const FastDdpmUnetOptions& options, c10::Device device)
    : options_(checked_fast_ddpm(options)) {
  time_ = std::make_shared<TimeEmbedding>(options_.ch, time_factor * options_.ch, "0", "1", device);
  const auto holder = register_module("temb", std::make_shared<torch::nn::Module>());
  holder->register_module("dense", time_);
  conv_in_ = std::make_shared<ConvBlock>(ConvShape{options_.in_channels, options_.ch}, device);
  register_module("conv_in", conv_in_->layer());
  add_down(device);
  add_middle(device);
  add_up(device);
  out_ = std::make_shared<NormSiluConv>(groups_that_divide(options_.channels(0), most_norm_groups),
                                        fast_ddpm_norm_epsilon,
                                        ConvShape{options_.channels(0), options_.out_ch}, device);
  register_module("norm_out", out_->norm());
  register_module("conv_out", out_->conv()->layer());
  if (options_.linear_skip)
    skip_ = register_module("skip", std::make_shared<LinearSkip>(options_.in_channels, device));
}

void FastDdpmUnetImpl::add_down(c10::Device device) {
  const TimeResBlockKind kind = fast_ddpm_kind(options_, device);
  torch::nn::ModuleList list;
  int64_t in = options_.ch;
  for (std::size_t level = 0; level < options_.ch_mult.size(); ++level) {
    const int64_t out = options_.channels(level);
    std::vector<std::shared_ptr<TimeResBlock>> blocks;
    for (int64_t i = 0; i < options_.num_res_blocks; ++i)
      blocks.push_back(std::make_shared<TimeResBlock>(kind, std::exchange(in, out), out,
                                                      text("down.", level, ".block.", i)));
    std::shared_ptr<ConvBlock> halving;
    if (level + 1 < options_.ch_mult.size())
      halving = std::make_shared<ConvBlock>(ConvShape{.in_channels = out, .out_channels = out, .stride = 2},
                                            device);
    down_.push_back(std::make_shared<FastDdpmLevel>(std::move(blocks), "downsample", halving));
    list->push_back(down_.back());
  }
  register_module("down", list);
}

void FastDdpmUnetImpl::add_middle(c10::Device device) {
  const TimeResBlockKind kind = fast_ddpm_kind(options_, device);
  const int64_t channels = options_.channels(options_.ch_mult.size() - 1);
  const auto holder = register_module("mid", std::make_shared<torch::nn::Module>());
  for (const std::string name : {"block_1", "block_2"}) {
    middle_.push_back(std::make_shared<TimeResBlock>(kind, channels, channels, "mid." + name));
    holder->register_module(name, middle_.back());
  }
}

void FastDdpmUnetImpl::add_up(c10::Device device) {
  const TimeResBlockKind kind = fast_ddpm_kind(options_, device);
  const std::size_t levels = options_.ch_mult.size();
  int64_t in = options_.channels(levels - 1);
  for (std::size_t level = levels; level-- > 0;) {
    const int64_t out = options_.channels(level);
    // The last skip of a level is that of the level before: its halving, or the first convolution.
    const int64_t last_skip = level == 0 ? options_.ch : options_.channels(level - 1);
    std::vector<std::shared_ptr<TimeResBlock>> blocks;
    for (int64_t i = 0; i <= options_.num_res_blocks; ++i) {
      const int64_t skip = i == options_.num_res_blocks ? last_skip : out;
      blocks.push_back(std::make_shared<TimeResBlock>(kind, std::exchange(in, out) + skip, out,
                                                      text("up.", level, ".block.", i)));
    }
    std::shared_ptr<ConvBlock> doubling;
    if (level > 0) doubling = std::make_shared<DoubledConv>(ConvShape{out, out}, device);
    up_.push_back(std::make_shared<FastDdpmLevel>(std::move(blocks), "upsample", doubling));
  }
  // The names count from the finest level.
  torch::nn::ModuleList list;
  for (std::size_t level = 0; level < levels; ++level) list->push_back(up_[levels - 1 - level]);
  register_module("up", list);
}

at::Tensor FastDdpmUnetImpl::forward(const at::Tensor& noisy, const at::Tensor& times) {
  check_input(noisy);
  const at::Tensor sinusoids = sinusoidal_embedding(times, options_.ch, Sinusoids::ddpm);
  const at::Tensor time = run_block(time_, send_like(sinusoids, noisy));
  at::Tensor value = run_block(conv_in_, noisy);
  std::vector<at::Tensor> skips{value};
  for (const auto& level : down_) value = level->pass_down(std::move(value), time, skips);
  const at::Tensor no_skip;
  for (const auto& block : middle_) value = run_block(block, std::as_const(value), no_skip, time);
  for (const auto& level : up_) value = level->pass_up(std::move(value), time, skips);
  return run_block(out_, std::as_const(value));
}

at::Tensor FastDdpmUnetImpl::linear_guess(const at::Tensor& image, const at::Tensor& is_target) {
  return run_block(skip_, image, is_target);
}

void FastDdpmUnetImpl::check_input(const at::Tensor& noisy) const {
  const int64_t divisor = options_.size_divisor();
  bool fits = noisy.dim() == 5 && noisy.size(1) == options_.in_channels;
  for (int64_t axis = 2; fits && axis < 5; ++axis) fits = noisy.size(axis) % divisor == 0;
  if (fits) return;
  fail(Exit::data,
       text("the network takes [N, ", options_.in_channels, ", D, H, W] with D, H and W multiples of ",
            divisor, ", and got an input of the shape ", shape_text(noisy.sizes())),
       "choose a crop whose sizes are multiples of 2^(levels - 1), and model.in_channels as the data has "
       "them");
}

}  // namespace larmor::nn
