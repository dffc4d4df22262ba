// Attention whose three projections of the input are one tensor. Source: torch.nn.MultiheadAttention.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include "larmor/nn/blocks/dropout.h"
#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::nn {

class MultiheadAttention final : public torch::nn::Module {
 public:
  /// Weights are named `in_proj_weight`, `in_proj_bias` and `out_proj.…`, and are drawn as PyTorch draws
  /// them. `drop` is of the weights of attention; `path` as Dropout's. Requires: `heads` divides channels.
  MultiheadAttention(int64_t channels, int64_t heads, double drop, const std::string& path,
                     c10::Device device);
  /// Queries of `tokens` [N, L, C] for `context` [N, M, C], of which those count that are true in `seen`
  /// [N, M]; a row has one that is.
  at::Tensor forward(const at::Tensor& tokens, const at::Tensor& context, const at::Tensor& seen);
  /// How much each token looks at each part of its context, [N, L, M] as a mean over heads, without dropout;
  /// a row comes to 1. For people: forward() does not make these.
  at::Tensor weights(const at::Tensor& tokens, const at::Tensor& context, const at::Tensor& seen) const;

 private:
  /// Queries (0), keys (1) or values (2) of tokens.
  at::Tensor projected(const at::Tensor& tokens, int64_t which, int64_t count) const;

  int64_t heads_;
  at::Tensor in_proj_weight_, in_proj_bias_;  // [3 C, C], [3 C]: of queries, keys and values
  std::shared_ptr<LayerWeights> out_;
  Dropout dropout_;  // not registered: it follows this module's mode
};

}  // namespace larmor::nn
