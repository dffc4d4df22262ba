// What BERT is built of: the sum of its embeddings, and its layer. Source: transformers.BertModel (5.23).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "larmor/nn/blocks/dropout.h"
#include "larmor/nn/blocks/layer_norm.h"
#include "larmor/nn/blocks/layer_weights.h"
#include "larmor/nn/networks/bert/bert.h"

namespace larmor::nn {

inline constexpr double bert_deviation = 0.02;  // of weights at the start

class BertEmbeddings final : public torch::nn::Module {
 public:
  BertEmbeddings(const BertOptions& options, const std::string& path, c10::Device device);
  /// ids and types [N, L] to [N, L, C].
  at::Tensor forward(const at::Tensor& ids, const at::Tensor& types);

 private:
  std::shared_ptr<LayerWeights> words_, positions_, types_;
  std::shared_ptr<LayerNorm> norm_;
  std::shared_ptr<Dropout> dropout_;
};

/// Self-attention and two linear layers with GELU between them, each beside a shortcut and before a norm.
class BertLayer final : public torch::nn::Module {
 public:
  BertLayer(const BertOptions& options, const std::string& path, c10::Device device);
  /// states [N, L, C], seen [N, L]
  at::Tensor forward(const at::Tensor& states, const at::Tensor& seen);

 private:
  int64_t heads_;
  std::shared_ptr<LayerWeights> query_, key_, value_, mixed_, intermediate_, output_;
  std::shared_ptr<LayerNorm> attention_norm_, output_norm_;
  std::shared_ptr<Dropout> weight_dropout_, attention_dropout_, output_dropout_;
};

}  // namespace larmor::nn
