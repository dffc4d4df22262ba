#include "larmor/nn/networks/hybrid_vit/hybrid_vit_stage.h"

#include <algorithm>
#include <string>

#include <ATen/ops/empty.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/upsample_trilinear3d.h>
#include <torch/nn/modules/container/modulelist.h>

#include "larmor/base/text.h"
#include "larmor/device/initialisation.h"
#include "larmor/kernels/convolution/conv2d.h"

namespace larmor::nn {
namespace {

constexpr int64_t hybrid_norm_groups = 8;
constexpr double hybrid_norm_epsilon = 1e-5, least_ray_weight = 1e-8, prior_share = 0.1,
                 position_deviation = 0.02;

std::shared_ptr<LayerWeights> flat_convolution(int64_t in, int64_t out, int64_t kernel, c10::Device device) {
  return std::make_shared<LayerWeights>(at::IntArrayRef({out, in, kernel, kernel}), /*has_bias=*/true,
                                        device);
}

at::Tensor convolved(const at::Tensor& image, const LayerWeights& weights, int64_t stride = 1) {
  const int64_t padding = weights.weight().size(2) / 2;
  return conv2d(image, weights.weight(), weights.bias(), {stride, stride}, {padding, padding});
}

std::shared_ptr<torch::nn::Module> add_group(torch::nn::Module& parent, const std::string& name) {
  return parent.register_module(name, std::make_shared<torch::nn::Module>());
}

/// Corner-aligned.
at::Tensor resized(const at::Tensor& volume, int64_t size) {
  return at::upsample_trilinear3d(volume, {size, size, size}, /*align_corners=*/true);
}

}  // namespace

XrayEncoder::XrayEncoder(c10::Device device) {
  const auto encoder = add_group(*this, "encoder");
  const auto add = [&](const char* name, int64_t in, int64_t out, int64_t kernel) {
    convolutions_.push_back(encoder->register_module(name, flat_convolution(in, out, kernel, device)));
  };
  add("0", 1, 64, 7);
  add("3", 64, 128, 3);
  add("6", 128, xray_channels, 3);
  const auto time = add_group(*this, "time_mlp");
  time_first_ = time->register_module("0", linear_weights(time_channels, xray_channels, true, device));
  time_second_ =
      time->register_module("2", linear_weights(xray_channels, xray_condition_channels, true, device));
  to_condition_ =
      register_module("to_cond", linear_weights(xray_channels, xray_condition_channels, true, device));
}

std::vector<at::Tensor> XrayEncoder::forward(const at::Tensor& xrays, const at::Tensor& time) {
  at::Tensor value = at::relu(convolved(xrays.flatten(0, 1).unsqueeze(1), *convolutions_[0], /*stride=*/2));
  value = at::relu(convolved(at::max_pool2d(value, 3, 2, 1), *convolutions_[1]));
  value = at::relu(convolved(at::max_pool2d(value, 2, 2), *convolutions_[2]));
  const at::Tensor features = value.unflatten(0, {xrays.size(0), xrays.size(1)}).mean(1);
  const at::Tensor of_time = linear(at::silu(linear(time, *time_first_)), *time_second_);
  return {features, of_time + linear(features.mean({2, 3}), *to_condition_)};
}

DepthLifter::DepthLifter(int64_t depth, c10::Device device) {
  const auto net = add_group(*this, "depth_net");
  const auto add = [&](const char* name, int64_t in, int64_t out, int64_t kernel) {
    convolutions_.push_back(net->register_module(name, flat_convolution(in, out, kernel, device)));
  };
  const auto add_norm = [&](const char* name, int64_t channels) {
    norms_.push_back(net->register_module(
        name, std::make_shared<GroupNorm>(hybrid_norm_groups, channels, hybrid_norm_epsilon, device)));
  };
  add("0", xray_channels, 256, 3);
  add_norm("1", 256);
  add("3", 256, 128, 3);
  add_norm("4", 128);
  add("6", 128, depth, 1);
  modulation_ = add_group(*this, "prior_modulation")
                    ->register_module("0", flat_convolution(xray_channels, depth, 1, device));
}

at::Tensor DepthLifter::forward(const at::Tensor& features) {
  at::Tensor value = norms_[0]->forward_silu(convolved(features, *convolutions_[0]));
  value = norms_[1]->forward_silu(convolved(value, *convolutions_[1]));
  const at::Tensor weights =
      convolved(value, *convolutions_[2]).softmax(1) * at::sigmoid(convolved(features, *modulation_));
  return weights / (weights.sum(1, /*keepdim=*/true) + least_ray_weight);
}

/// Convolutions of stride 2 down to the grid of tokens, and one to the tokens' width where it is not reached.
class HybridVitBackbone::VoxelEmbedding final : public torch::nn::Module {
 public:
  VoxelEmbedding(const HybridVitStageOptions& stage, int64_t grid, c10::Device device) {
    const int64_t widths[] = {stage.voxel_dim / 4, stage.voxel_dim / 2, stage.voxel_dim};
    int64_t channels = 1, place = 0, level = 0;
    for (int64_t size = stage.volume_size; size > grid; size /= 2, ++level) {
      const int64_t width = widths[std::min<int64_t>(level, 2)];
      add(place, {.in_channels = channels, .out_channels = width, .stride = 2}, device);
      norms_.push_back(
          register_module(text(place + 1), std::make_shared<GroupNorm>(std::min(hybrid_norm_groups, width),
                                                                       width, hybrid_norm_epsilon, device)));
      place += 3;  // the third one is SiLU
      channels = width;
    }
    if (channels != stage.voxel_dim)
      add(place, {.in_channels = channels, .out_channels = stage.voxel_dim}, device);
  }

  at::Tensor forward(at::Tensor value) {
    for (std::size_t i = 0; i < convolutions_.size(); ++i) {
      value = convolutions_[i]->forward(value);
      if (i < norms_.size()) value = norms_[i]->forward_silu(value);
    }
    return value;
  }

 private:
  void add(int64_t place, const ConvShape& shape, c10::Device device) {
    convolutions_.push_back(std::make_shared<ConvBlock>(shape, device));
    register_module(text(place), convolutions_.back()->layer());
  }

  std::vector<std::shared_ptr<ConvBlock>> convolutions_;
  std::vector<std::shared_ptr<GroupNorm>> norms_;
};

HybridVitBackbone::HybridVitBackbone(const HybridVitStageOptions& stage, const HybridVitOptions& options,
                                     c10::Device device)
    : grid_(options.token_grid) {
  const int64_t tokens = grid_ * grid_ * grid_;
  voxel_embed_ = register_module("voxel_embed", std::make_shared<VoxelEmbedding>(stage, grid_, device));
  pos_embed_ = register_parameter("pos_embed", at::empty({1, tokens, stage.voxel_dim}, device));
  initialise_normal(pos_embed_, 0, position_deviation);
  torch::nn::ModuleList list;
  const VitBlockShape shape{
      .channels = stage.voxel_dim,
      .heads = stage.num_heads,
      .condition_channels = xray_condition_channels + (stage.follows_another ? previous_channels : 0),
      .context_channels = xray_channels,
      .dropout = options.dropout};
  for (int64_t i = 0; i < stage.vit_depth; ++i) {
    blocks_.push_back(std::make_shared<VitBlock>(shape, text(stage.name, ".vit_backbone.blocks.", i),
                                                 /*begins_as_identity=*/false, device));
    list->push_back(blocks_.back());
  }
  register_module("blocks", list);
  norm_ = register_module("norm", std::make_shared<LayerNorm>(stage.voxel_dim, device));
  output_ = register_module("output_proj", linear_weights(stage.voxel_dim, 1, /*has_bias=*/true, device));
}

at::Tensor HybridVitBackbone::forward(const at::Tensor& noisy, const at::Tensor& context,
                                      const at::Tensor& condition) {
  at::Tensor tokens = run_block(voxel_embed_, noisy).flatten(2).transpose(1, 2) + pos_embed_;
  tokens = run_blocks(blocks_, tokens, context, condition);
  const at::Tensor coarse = linear(norm_->forward(tokens), *output_).transpose(1, 2);
  return resized(coarse.unflatten(2, {grid_, grid_, grid_}), noisy.size(2));
}

HybridVitStage::HybridVitStage(const HybridVitStageOptions& stage, const HybridVitOptions& options,
                               c10::Device device) {
  const auto networks = add_group(*add_group(*this, "depth_lifter"), "depth_networks");
  lifter_ = networks->register_module(text("depth_", stage.volume_size),
                                      std::make_shared<DepthLifter>(stage.volume_size, device));
  to_volume_ = register_module("depth_to_volume",
                               std::make_shared<LayerWeights>(at::IntArrayRef({1, xray_channels, 1, 1, 1}),
                                                              /*has_bias=*/true, device));
  backbone_ = register_module("vit_backbone", std::make_shared<HybridVitBackbone>(stage, options, device));
}

// The lifted volume is the outer product of features and weights, and the convolution to one channel is
// linear in it: it can be applied to the features, and the volume of 512 channels is never there.
HybridVitImpl::Lifted HybridVitStage::lift(const at::Tensor& features) const {
  const at::Tensor weights = run_block(lifter_, features);
  const at::Tensor one = conv2d(features, to_volume_->weight().select(4, 0), at::Tensor(), {1, 1}, {0, 0});
  return {.weights = weights, .prior = (one * weights + to_volume_->bias()).unsqueeze(1)};
}

at::Tensor HybridVitStage::forward(const at::Tensor& noisy, const at::Tensor& features,
                                   const at::Tensor& condition) const {
  const at::Tensor prior = resized(lift(features).prior, noisy.size(2));
  return backbone_->forward(noisy + prior_share * prior, features.flatten(2).transpose(1, 2), condition);
}

}  // namespace larmor::nn
