#include "larmor/nn/networks/autoencoder_kl/attention_block.h"

#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::nn {

/// Its weights are named `to_q`, `to_k`, `to_v` and `out_proj`.
class AttentionBlock::SelfAttention final : public torch::nn::Module {
 public:
  SelfAttention(int64_t channels, c10::Device device)
      : out_(projection("out_proj", channels, device)),
        query_(projection("to_q", channels, device)),
        key_(projection("to_k", channels, device)),
        value_(projection("to_v", channels, device)) {}

  at::Tensor forward(const at::Tensor& tokens) {  // [N, L, C]
    const auto as_head = [&tokens](const Projection& projection) {
      return project(projection, tokens).unsqueeze(1);
    };
    const at::Tensor mixed =
        at::scaled_dot_product_attention(as_head(query_), as_head(key_), as_head(value_));
    return project(out_, mixed.squeeze(1));
  }

 private:
  using Projection = std::shared_ptr<LayerWeights>;

  Projection projection(const char* name, int64_t channels, c10::Device device) {
    return register_module(name, std::make_shared<LayerWeights>(at::IntArrayRef({channels, channels}),
                                                                /*has_bias=*/true, device));
  }
  static at::Tensor project(const Projection& projection, const at::Tensor& tokens) {
    return at::linear(tokens, projection->weight(), projection->bias());
  }

  Projection out_, query_, key_, value_;
};

AttentionBlock::AttentionBlock(int64_t channels, int64_t norm_groups, double norm_epsilon, c10::Device device)
    : norm_(
          register_module("norm", std::make_shared<GroupNorm>(norm_groups, channels, norm_epsilon, device))),
      attention_(register_module("attn", std::make_shared<SelfAttention>(channels, device))) {}

at::Tensor AttentionBlock::forward(const at::Tensor& input) {
  const at::Tensor tokens = norm_->forward(input).flatten(2).transpose(1, 2);
  return input + attention_->forward(tokens).transpose(1, 2).reshape(input.sizes());
}

}  // namespace larmor::nn
