#include "larmor/nn/networks/diffusion_unet/spatial_transformer.h"

#include <ATen/ops/gelu.h>
#include <torch/nn/modules/container/modulelist.h>

#include "larmor/nn/blocks/heads.h"
#include "larmor/nn/blocks/layer_norm.h"
#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::nn {
namespace {

constexpr int64_t feed_forward_factor = 4;

}  // namespace

/// Queries of one sequence of tokens for another one, or for itself; only the last projection has a bias.
class TokenAttention final : public torch::nn::Module {
 public:
  TokenAttention(int64_t channels, int64_t context_channels, int64_t heads, c10::Device device)
      : heads_(heads) {
    query_ = register_module("to_q", linear_weights(channels, channels, /*has_bias=*/false, device));
    key_ = register_module("to_k", linear_weights(context_channels, channels, /*has_bias=*/false, device));
    value_ = register_module("to_v", linear_weights(context_channels, channels, /*has_bias=*/false, device));
    out_ = register_module("out_proj", linear_weights(channels, channels, /*has_bias=*/true, device));
  }
  at::Tensor forward(const at::Tensor& tokens, const at::Tensor& context) {  // [N, L, C], [N, M, …]
    const at::Tensor mixed =
        attend(linear(tokens, *query_), linear(context, *key_), linear(context, *value_), heads_);
    return linear(mixed, *out_);
  }

 private:
  int64_t heads_;
  std::shared_ptr<LayerWeights> query_, key_, value_, out_;
};

/// Linear, GEGLU, linear. Source: Shazeer 2020.
class GatedFeedForward final : public torch::nn::Module {
 public:
  GatedFeedForward(int64_t channels, c10::Device device) {
    const int64_t inner = feed_forward_factor * channels;
    first_ = register_module("linear1", linear_weights(channels, 2 * inner, /*has_bias=*/true, device));
    second_ = register_module("linear2", linear_weights(inner, channels, /*has_bias=*/true, device));
  }
  at::Tensor forward(const at::Tensor& tokens) {
    const auto halves = linear(tokens, *first_).chunk(2, /*dim=*/-1);
    return linear(halves[0] * at::gelu(halves[1]), *second_);
  }

 private:
  std::shared_ptr<LayerWeights> first_, second_;
};

class SpatialTransformer::Layer final : public torch::nn::Module {
 public:
  Layer(int64_t channels, int64_t context_channels, int64_t heads, c10::Device device) {
    own_ = register_module("attn1", std::make_shared<TokenAttention>(channels, channels, heads, device));
    feed_forward_ = register_module("ff", std::make_shared<GatedFeedForward>(channels, device));
    cross_ =
        register_module("attn2", std::make_shared<TokenAttention>(channels, context_channels, heads, device));
    norm1_ = register_module("norm1", std::make_shared<LayerNorm>(channels, device));
    norm2_ = register_module("norm2", std::make_shared<LayerNorm>(channels, device));
    norm3_ = register_module("norm3", std::make_shared<LayerNorm>(channels, device));
  }

  at::Tensor forward(at::Tensor tokens, const at::Tensor& context) {
    const at::Tensor normed = norm1_->forward(tokens);
    tokens = tokens + own_->forward(normed, normed);
    tokens = tokens + cross_->forward(norm2_->forward(tokens), context);
    return tokens + feed_forward_->forward(norm3_->forward(tokens));
  }

 private:
  std::shared_ptr<TokenAttention> own_, cross_;
  std::shared_ptr<GatedFeedForward> feed_forward_;
  std::shared_ptr<LayerNorm> norm1_, norm2_, norm3_;
};

SpatialTransformer::SpatialTransformer(const DiffusionUnetOptions& options, int64_t channels,
                                       int64_t head_channels, c10::Device device) {
  const ConvShape pointwise{.in_channels = channels, .out_channels = channels, .kernel = 1, .padding = 0};
  norm_ = register_module(
      "norm", std::make_shared<GroupNorm>(options.norm_num_groups, channels, options.norm_eps, device));
  in_ = register_module("proj_in", std::make_shared<ConvBlock>(pointwise, device));
  torch::nn::ModuleList list;
  for (int64_t i = 0; i < options.transformer_num_layers; ++i) {
    layers_.push_back(
        std::make_shared<Layer>(channels, options.cross_attention_dim, channels / head_channels, device));
    list->push_back(layers_.back());
  }
  register_module("transformer_blocks", list);
  out_ = register_module("proj_out", std::make_shared<ConvBlock>(pointwise, device));
  out_->layer()->zero();
}

at::Tensor SpatialTransformer::forward(const at::Tensor& input, const at::Tensor& context) {
  at::Tensor tokens = in_->forward(norm_->forward(input)).flatten(2).transpose(1, 2);  // [N, D H W, C]
  for (const auto& layer : layers_) tokens = layer->forward(std::move(tokens), context);
  const at::Tensor voxels = tokens.transpose(1, 2).reshape(input.sizes());
  return out_->forward(voxels).add_(input);
}

}  // namespace larmor::nn
