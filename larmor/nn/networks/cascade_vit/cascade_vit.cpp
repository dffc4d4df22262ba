#include "larmor/nn/networks/cascade_vit/cascade_vit.h"

#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/meshgrid.h>
#include <ATen/ops/stack.h>
#include <torch/nn/modules/container/modulelist.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/send.h"
#include "larmor/nn/blocks/conv_block.h"
#include "larmor/nn/blocks/norm_silu_conv.h"
#include "larmor/nn/blocks/resample_block.h"
#include "larmor/nn/blocks/shape_text.h"
#include "larmor/nn/blocks/time_embedding.h"
#include "larmor/nn/blocks/time_res_block.h"
#include "larmor/nn/networks/cascade_vit/xray_lifter.h"
#include "larmor/nn/networks/hybrid_vit/vit_block.h"

namespace larmor::nn {
namespace {

constexpr int64_t condition_factor = 4;  // channels of the condition, per channel of the finest level
constexpr int64_t sinusoid_channels = 64, most_cascade_groups = 32;
constexpr int64_t place_frequencies = 3, place_channels = 3 * 2 * place_frequencies;
constexpr double time_span = 1000;  // what sinusoids are made of reaches this far
constexpr double cascade_norm_epsilon = 1e-6, place_deviation = 0.02;

CascadeVitOptions checked_cascade(const CascadeVitOptions& options) {
  options.check();
  return options;
}

}  // namespace

at::Tensor place_features(int64_t grid, const at::Tensor& like) {
  if (like.is_meta()) return at::empty({1, place_channels, grid, grid, grid}, like.options());
  const at::Tensor count = at::arange(grid, like.options());
  const at::Tensor centres = (count + 0.5) * (2.0 / static_cast<double>(grid)) - 1;
  std::vector<at::Tensor> features;
  for (const at::Tensor& place : at::meshgrid({centres, centres, centres}, "ij")) {
    for (int64_t power = 0; power < place_frequencies; ++power) {
      const at::Tensor turned = place * (std::numbers::pi * std::exp2(power - 1));
      features.push_back(turned.sin());
      features.push_back(turned.cos());
    }
  }
  return at::stack(features).unsqueeze(0);
}

at::Tensor space_to_depth(const at::Tensor& volume, int64_t patch) {
  if (patch == 1) return volume;
  return volume.unflatten(4, {-1, patch})
      .unflatten(3, {-1, patch})
      .unflatten(2, {-1, patch})
      .permute({0, 1, 3, 5, 7, 2, 4, 6})
      .flatten(1, 4);
}

at::Tensor depth_to_space(const at::Tensor& patches, int64_t patch) {
  if (patch == 1) return patches;
  return patches.unflatten(1, {-1, patch, patch, patch})
      .permute({0, 1, 5, 2, 6, 3, 7, 4})
      .flatten(6, 7)
      .flatten(4, 5)
      .flatten(2, 3);
}

/// AdaLN-zero blocks over the places of the coarsest level, beside a shortcut.
class CascadeVitImpl::Transformer final : public torch::nn::Module {
 public:
  Transformer(const CascadeVitOptions& options, int64_t condition_channels, c10::Device device)
      : grid_(options.token_grid()) {
    const int64_t channels = options.channels.back(), width = options.voxel_dim;
    to_tokens_ = register_module("to_tokens", linear_weights(channels, width, /*has_bias=*/true, device));
    pos_embed_ = register_parameter("pos_embed", at::empty({1, grid_ * grid_ * grid_, width}, device));
    initialise_normal(pos_embed_, 0, place_deviation);
    torch::nn::ModuleList list;
    const VitBlockShape shape{.channels = width,
                              .heads = options.num_heads,
                              .condition_channels = condition_channels,
                              .context_channels = options.xray_channels,
                              .dropout = options.dropout};
    for (int64_t i = 0; i < options.vit_depth; ++i) {
      blocks_.push_back(std::make_shared<VitBlock>(shape, text("transformer.blocks.", i),
                                                   /*begins_as_identity=*/true, device));
      list->push_back(blocks_.back());
    }
    register_module("blocks", list);
    norm_ = register_module("norm", std::make_shared<LayerNorm>(width, device));
    from_tokens_ = register_module("from_tokens", linear_weights(width, channels, /*has_bias=*/true, device));
    from_tokens_->zero();
  }

  at::Tensor pass(const at::Tensor& value, const at::Tensor& context, const at::Tensor& condition) const {
    at::Tensor tokens = linear(value.flatten(2).transpose(1, 2), *to_tokens_) + pos_embed_;
    tokens = run_blocks(blocks_, std::move(tokens), context, condition);
    const at::Tensor mixed = linear(norm_->forward(tokens), *from_tokens_);
    return value + mixed.transpose(1, 2).unflatten(2, {grid_, grid_, grid_});
  }

 private:
  int64_t grid_;
  at::Tensor pos_embed_;  // [1, grid³, C]
  std::shared_ptr<LayerWeights> to_tokens_, from_tokens_;
  BlockList<VitBlock> blocks_;
  std::shared_ptr<LayerNorm> norm_;
};

CascadeVitImpl::CascadeVitImpl(const CascadeVitOptions& options, c10::Device device)
    : options_(checked_cascade(options)) {
  const int64_t finest = options_.channels.front(), condition = condition_factor * finest;
  const int64_t voxels = options_.patch_size * options_.patch_size * options_.patch_size;
  time_embed_ = register_module(
      "time_embed", std::make_shared<TimeEmbedding>(sinusoid_channels, condition, "0", "2", device));
  if (options_.follows_another)
    augmented_embed_ = register_module(
        "augmented_embed", std::make_shared<TimeEmbedding>(sinusoid_channels, condition, "0", "2", device));
  lifter_ = register_module("xray_lifter", std::make_shared<XrayLifter>(options_, device));
  to_condition_ = register_module(
      "to_cond", linear_weights(options_.xray_channels, condition, /*has_bias=*/true, device));
  const int64_t in = voxels * (options_.follows_another ? 2 : 1) +
                     options_.views() * options_.lifted_channels + place_channels;
  conv_in_ = register_module("conv_in", std::make_shared<ConvBlock>(ConvShape{in, finest}, device));
  add_levels(device);
  transformer_ = register_module("transformer", std::make_shared<Transformer>(options_, condition, device));
  const int64_t groups = groups_that_divide(finest, most_cascade_groups);
  out_ = register_module(
      "out", std::make_shared<NormSiluConv>(groups, cascade_norm_epsilon, ConvShape{finest, voxels}, device));
  out_->conv()->layer()->zero();
}

void CascadeVitImpl::add_levels(c10::Device device) {
  const auto& channels = options_.channels;
  const TimeResBlockKind kind{.time_channels = condition_factor * channels.front(),
                              .norm_num_groups = most_cascade_groups,
                              .fewer_groups_where_needed = true,
                              .norm_epsilon = cascade_norm_epsilon,
                              .dropout = options_.dropout,
                              .starts_as_shortcut = true,
                              .device = device};
  torch::nn::ModuleList down, up, halving, doubling;
  int64_t value = channels.front();
  for (std::size_t level = 0; level < channels.size(); ++level) {
    down_.emplace_back();
    up_.emplace_back();
    for (int64_t i = 0; i < options_.num_res_blocks; ++i) {
      const std::string place = text(level, ".", i);
      down_[level].push_back(std::make_shared<TimeResBlock>(kind, value, channels[level], "down." + place));
      value = channels[level];
      // The first block on the way up takes what comes from below; each takes one skip.
      const int64_t below = i == 0 && level + 1 < channels.size() ? channels[level + 1] : value;
      up_[level].push_back(std::make_shared<TimeResBlock>(kind, below + value, value, "up." + place));
      down->push_back(down_[level].back());
      up->push_back(up_[level].back());
    }
    if (level + 1 == channels.size()) break;
    halving_.push_back(std::make_shared<ConvBlock>(
        ConvShape{.in_channels = value, .out_channels = channels[level + 1], .stride = 2}, device));
    halving->push_back(halving_.back());
    doubling_.push_back(std::make_shared<Upsample>(channels[level + 1], device));
    doubling->push_back(doubling_.back());
    value = channels[level + 1];
  }
  register_module("down", down);
  register_module("up", up);
  register_module("halving", halving);
  register_module("doubling", doubling);
}

at::Tensor CascadeVitImpl::condition_of(const CascadeInput& input, const at::Tensor& whole) const {
  const auto embedded = [&](const std::shared_ptr<TimeEmbedding>& embedding, const at::Tensor& level) {
    const at::Tensor sinusoids =
        sinusoidal_embedding(level.to(at::kDouble) * time_span, sinusoid_channels, Sinusoids::monai);
    return run_block(embedding, send_like(sinusoids, input.noisy));
  };
  at::Tensor condition = embedded(time_embed_, input.time) + linear(whole, *to_condition_);
  if (augmented_embed_ != nullptr) condition = condition + embedded(augmented_embed_, input.augmented);
  return condition;
}

at::Tensor CascadeVitImpl::denoise(const CascadeInput& input) {
  check_input(input);
  const auto seen = run_block(lifter_, input.xrays);
  const at::Tensor condition = condition_of(input, seen[2]);
  std::vector<at::Tensor> parts{space_to_depth(input.noisy, options_.patch_size)};
  if (options_.follows_another) parts.push_back(space_to_depth(input.previous, options_.patch_size));
  parts.push_back(seen[0]);
  const at::Tensor places = place_features(options_.finest(), input.noisy);
  parts.push_back(places.expand({input.noisy.size(0), -1, -1, -1, -1}));
  at::Tensor value = run_block(conv_in_, at::cat(parts, 1));

  const at::Tensor no_skip;
  std::vector<at::Tensor> skips;
  for (std::size_t level = 0; level < down_.size(); ++level) {
    for (const auto& block : down_[level]) {
      value = run_block(block, std::as_const(value), no_skip, condition);
      skips.push_back(value);
    }
    if (level < halving_.size()) value = run_block(halving_[level], std::as_const(value));
  }
  value = transformer_->pass(value, seen[1], condition);
  for (std::size_t level = up_.size(); level-- > 0;) {
    if (level < doubling_.size()) value = run_block(doubling_[level], std::as_const(value));
    for (const auto& block : up_[level]) {
      const at::Tensor skip = std::move(skips.back());
      skips.pop_back();
      value = run_block(block, std::as_const(value), skip, condition);
    }
  }
  return depth_to_space(run_block(out_, std::as_const(value)), options_.patch_size);
}

void CascadeVitImpl::check_input(const CascadeInput& input) const {
  const int64_t rows = input.noisy.size(0), size = options_.volume_size;
  const std::vector<int64_t> volume{rows, 1, size, size, size};
  const bool fits = input.noisy.sizes() == at::IntArrayRef(volume) && input.xrays.dim() == 4 &&
                    input.xrays.size(1) == options_.views();
  if (!fits)
    fail(Exit::data,
         text("the stage takes volumes [N, 1, ", size, ", ", size, ", ", size, "] and radiographs [N, ",
              options_.views(), ", rows, columns], and got ", shape_text(input.noisy.sizes()), " and ",
              shape_text(input.xrays.sizes())),
         "set model.volume_size and model.views as the data has them");
  if (!options_.follows_another) return;
  if (input.previous.defined() && input.previous.sizes() == at::IntArrayRef(volume) &&
      input.augmented.defined())
    return;
  fail(Exit::data,
       text("the stage takes the earlier stage's volume as ", shape_text(volume), ", and got ",
            input.previous.defined() ? shape_text(input.previous.sizes()) : std::string("none")),
       "bring it to the size of this stage first");
}

}  // namespace larmor::nn
