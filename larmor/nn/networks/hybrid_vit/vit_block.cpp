#include "larmor/nn/networks/hybrid_vit/vit_block.h"

#include <ATen/ops/gelu.h>

#include "larmor/nn/blocks/heads.h"

namespace larmor::nn {
namespace {

constexpr int64_t modulations = 6;  // shift, scale and gate, twice
constexpr int64_t mlp_ratio = 4;

std::shared_ptr<torch::nn::Module> empty_group() { return std::make_shared<torch::nn::Module>(); }

}  // namespace

VitBlock::VitBlock(const VitBlockShape& shape, const std::string& path, bool begins_as_identity,
                   c10::Device device)
    : heads_(shape.heads) {
  const int64_t channels = shape.channels;
  const auto adaln = register_module("adaln", empty_group());
  adaln_ = add(*adaln, "linear", shape.condition_channels, modulations * channels, true, device);
  const auto own = register_module("self_attn", empty_group());
  qkv_ = add(*own, "qkv", channels, 3 * channels, false, device);
  own_out_ = add(*own, "proj", channels, channels, true, device);
  const auto cross = register_module("cross_attn", empty_group());
  query_ = add(*cross, "q", channels, channels, false, device);
  key_value_ = add(*cross, "kv", shape.context_channels, 2 * channels, false, device);
  cross_out_ = add(*cross, "proj", channels, channels, true, device);
  const auto mlp = register_module("mlp", empty_group());
  first_ = add(*mlp, "0", channels, mlp_ratio * channels, true, device);
  second_ = add(*mlp, "3", mlp_ratio * channels, channels, true, device);
  norm1_ = register_module("norm1", std::make_shared<LayerNorm>(channels, device));
  norm2_ = register_module("norm2", std::make_shared<LayerNorm>(channels, device));
  norm3_ = register_module("norm3", std::make_shared<LayerNorm>(channels, device));
  const auto dropout = [&](const char* name) {
    return register_module(name, std::make_shared<Dropout>(shape.dropout, path + "." + name));
  };
  own_dropout_ = dropout("self_attn_dropout");
  cross_dropout_ = dropout("cross_attn_dropout");
  inner_dropout_ = dropout("mlp_inner_dropout");
  outer_dropout_ = dropout("mlp_outer_dropout");
  adaln_->zero();
  if (begins_as_identity) cross_out_->zero();
}

std::shared_ptr<LayerWeights> VitBlock::add(torch::nn::Module& group, const char* name, int64_t in,
                                            int64_t out, bool has_bias, c10::Device device) const {
  return group.register_module(name, linear_weights(in, out, has_bias, device));
}

at::Tensor VitBlock::attended(const at::Tensor& tokens) const {
  const auto parts = linear(tokens, *qkv_).chunk(3, /*dim=*/-1);
  return own_dropout_->forward(linear(attend(parts[0], parts[1], parts[2], heads_), *own_out_));
}

at::Tensor VitBlock::attended_to(const at::Tensor& tokens, const at::Tensor& context) const {
  const auto parts = linear(context, *key_value_).chunk(2, /*dim=*/-1);
  return cross_dropout_->forward(
      linear(attend(linear(tokens, *query_), parts[0], parts[1], heads_), *cross_out_));
}

at::Tensor VitBlock::forward(const at::Tensor& tokens, const at::Tensor& context,
                             const at::Tensor& condition) {
  const auto parts = linear(condition, *adaln_).chunk(modulations, /*dim=*/-1);  // [N, C] each
  at::Tensor value = tokens + parts[2].unsqueeze(1) *
                                  attended(norm1_->forward_modulated(tokens, /*scale=*/parts[1], parts[0]));
  value = value + attended_to(norm2_->forward(value), context);
  const at::Tensor hidden = linear(norm3_->forward_modulated(value, /*scale=*/parts[4], parts[3]), *first_);
  const at::Tensor mixed =
      outer_dropout_->forward(linear(inner_dropout_->forward(at::gelu(hidden)), *second_));
  return value + parts[5].unsqueeze(1) * mixed;
}

}  // namespace larmor::nn
