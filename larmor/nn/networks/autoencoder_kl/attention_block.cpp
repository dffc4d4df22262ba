#include "larmor/nn/networks/autoencoder_kl/attention_block.h"

#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/nn/modules/linear.h>

namespace larmor::nn {

/// Its weights are named `to_q`, `to_k`, `to_v` and `out_proj`.
class AttentionBlock::SelfAttention final : public torch::nn::Module {
 public:
  explicit SelfAttention(int64_t channels)
      : out_(register_module("out_proj", torch::nn::Linear(channels, channels))),
        query_(register_module("to_q", torch::nn::Linear(channels, channels))),
        key_(register_module("to_k", torch::nn::Linear(channels, channels))),
        value_(register_module("to_v", torch::nn::Linear(channels, channels))) {}

  at::Tensor forward(const at::Tensor& tokens) {  // [N, L, C]
    const auto as_head = [](const at::Tensor& projected) { return projected.unsqueeze(1); };
    const at::Tensor mixed = at::scaled_dot_product_attention(
        as_head(query_->forward(tokens)), as_head(key_->forward(tokens)), as_head(value_->forward(tokens)));
    return out_->forward(mixed.squeeze(1));
  }

 private:
  torch::nn::Linear out_, query_, key_, value_;
};

AttentionBlock::AttentionBlock(int64_t channels, int64_t norm_groups, double norm_epsilon)
    : norm_(register_module("norm", std::make_shared<GroupNorm>(norm_groups, channels, norm_epsilon))),
      attention_(register_module("attn", std::make_shared<SelfAttention>(channels))) {}

at::Tensor AttentionBlock::forward(const at::Tensor& input) {
  const at::Tensor tokens = norm_->forward(input).flatten(2).transpose(1, 2);
  return input + attention_->forward(tokens).transpose(1, 2).reshape(input.sizes());
}

}  // namespace larmor::nn
