// A transformer block that a condition steers (AdaLN-zero) and that attends to tokens of radiographs as well.
// Sources: Peebles and Xie 2023 (DiT); Hybrid-ViT-Cascade.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "larmor/nn/blocks/dropout.h"
#include "larmor/nn/blocks/layer_norm.h"
#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::nn {

struct VitBlockShape {
  int64_t channels;            // of a token
  int64_t heads;               // divides channels
  int64_t condition_channels;  // of the vector that steers the block
  int64_t context_channels;    // of a token that is attended to
  double dropout = 0;
};

/// Shift, scale and gate of self-attention and of the MLP come from one linear layer that begins at zero: a
/// new block adds nothing of its own to the tokens. Cross-attention has neither scale nor gate.
/// Weights: `adaln.linear`, `self_attn.{qkv,proj}`, `cross_attn.{q,kv,proj}`, `mlp.{0,3}`, `norm{1,2,3}`.
class VitBlock final : public torch::nn::Module {
 public:
  /// `path` is where the block stands in its network, for the draws of its dropout. With `begins_as_identity`
  /// the last layer of cross-attention begins at zero, too.
  VitBlock(const VitBlockShape& shape, const std::string& path, bool begins_as_identity, c10::Device device);
  /// tokens [N, L, C], context [N, M, context_channels], condition [N, condition_channels].
  at::Tensor forward(const at::Tensor& tokens, const at::Tensor& context, const at::Tensor& condition);

 private:
  std::shared_ptr<LayerWeights> add(torch::nn::Module& group, const char* name, int64_t in, int64_t out,
                                    bool has_bias, c10::Device device) const;
  at::Tensor attended(const at::Tensor& tokens) const;
  at::Tensor attended_to(const at::Tensor& tokens, const at::Tensor& context) const;

  int64_t heads_;
  std::shared_ptr<LayerWeights> adaln_, qkv_, own_out_, query_, key_value_, cross_out_, first_, second_;
  std::shared_ptr<LayerNorm> norm1_, norm2_, norm3_;
  std::shared_ptr<Dropout> own_dropout_, cross_dropout_, inner_dropout_, outer_dropout_;
};

}  // namespace larmor::nn
