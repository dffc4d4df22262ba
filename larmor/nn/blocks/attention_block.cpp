#include "larmor/nn/blocks/attention_block.h"

#include "larmor/nn/blocks/heads.h"
#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::nn {

/// Its weights are named `to_q`, `to_k`, `to_v` and `out_proj`.
class AttentionBlock::SelfAttention final : public torch::nn::Module {
 public:
  SelfAttention(int64_t channels, int64_t heads, c10::Device device)
      : heads_(heads),
        out_(projection("out_proj", channels, device)),
        query_(projection("to_q", channels, device)),
        key_(projection("to_k", channels, device)),
        value_(projection("to_v", channels, device)) {}

  at::Tensor forward(const at::Tensor& tokens) {  // [N, L, C]
    const at::Tensor mixed =
        attend(linear(tokens, *query_), linear(tokens, *key_), linear(tokens, *value_), heads_);
    return linear(mixed, *out_);
  }

 private:
  std::shared_ptr<LayerWeights> projection(const char* name, int64_t channels, c10::Device device) {
    return register_module(name, linear_weights(channels, channels, /*has_bias=*/true, device));
  }

  int64_t heads_;
  std::shared_ptr<LayerWeights> out_, query_, key_, value_;
};

AttentionBlock::AttentionBlock(int64_t channels, int64_t norm_groups, double norm_epsilon, c10::Device device,
                               int64_t heads)
    : norm_(
          register_module("norm", std::make_shared<GroupNorm>(norm_groups, channels, norm_epsilon, device))),
      attention_(register_module("attn", std::make_shared<SelfAttention>(channels, heads, device))) {}

at::Tensor AttentionBlock::forward(const at::Tensor& input) {
  const at::Tensor tokens = norm_->forward(input).flatten(2).transpose(1, 2);
  return input + attention_->forward(tokens).transpose(1, 2).reshape(input.sizes());
}

}  // namespace larmor::nn
