#include "larmor/nn/networks/bert/bert_layer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>

#include "larmor/base/text.h"
#include "larmor/nn/blocks/heads.h"

namespace larmor::nn {
namespace {

constexpr int64_t bert_padding = 0;  // the id of a token that is none

std::shared_ptr<LayerWeights> bert_linear(int64_t in, int64_t out, c10::Device device) {
  auto layer = linear_weights(in, out, /*has_bias=*/true, device);
  layer->draw_normal(bert_deviation);
  return layer;
}

std::shared_ptr<LayerWeights> bert_embedding(int64_t count, int64_t width, c10::Device device) {
  auto layer = std::make_shared<LayerWeights>(at::IntArrayRef({count, width}), /*has_bias=*/false, device);
  layer->draw_normal(bert_deviation);
  return layer;
}

}  // namespace

BertEmbeddings::BertEmbeddings(const BertOptions& options, const std::string& path, c10::Device device) {
  const int64_t width = options.hidden_size;
  words_ = register_module("word_embeddings", bert_embedding(options.vocab_size, width, device));
  positions_ =
      register_module("position_embeddings", bert_embedding(options.max_position_embeddings, width, device));
  types_ = register_module("token_type_embeddings", bert_embedding(options.type_vocab_size, width, device));
  norm_ = register_module("LayerNorm", std::make_shared<LayerNorm>(width, device, options.layer_norm_eps));
  dropout_ = register_module("dropout", std::make_shared<Dropout>(options.hidden_dropout_prob, path));
  if (device.is_meta()) return;
  const at::NoGradGuard no_gradient;
  words_->weight()[bert_padding].zero_();
}

at::Tensor BertEmbeddings::forward(const at::Tensor& ids, const at::Tensor& types) {
  const at::Tensor sum = at::embedding(words_->weight(), ids, bert_padding) +
                         at::embedding(types_->weight(), types) +
                         positions_->weight().narrow(0, 0, ids.size(1));
  return dropout_->forward(norm_->forward(sum));
}

BertLayer::BertLayer(const BertOptions& options, const std::string& path, c10::Device device)
    : heads_(options.num_attention_heads) {
  const int64_t width = options.hidden_size, inner = options.intermediate_size;
  const auto group = [](torch::nn::Module& owner, const char* name) {
    return owner.register_module(name, std::make_shared<torch::nn::Module>());
  };
  const auto norm = [&] { return std::make_shared<LayerNorm>(width, device, options.layer_norm_eps); };
  const auto dropout = [&](double drop, const char* name) {
    return std::make_shared<Dropout>(drop, text(path, ".", name));
  };
  const auto attention = group(*this, "attention");
  const auto self = group(*attention, "self");
  query_ = self->register_module("query", bert_linear(width, width, device));
  key_ = self->register_module("key", bert_linear(width, width, device));
  value_ = self->register_module("value", bert_linear(width, width, device));
  weight_dropout_ =
      self->register_module("dropout", dropout(options.attention_probs_dropout_prob, "attention.self"));
  const auto mixed = group(*attention, "output");
  mixed_ = mixed->register_module("dense", bert_linear(width, width, device));
  attention_norm_ = mixed->register_module("LayerNorm", norm());
  attention_dropout_ =
      mixed->register_module("dropout", dropout(options.hidden_dropout_prob, "attention.output"));
  intermediate_ = group(*this, "intermediate")->register_module("dense", bert_linear(width, inner, device));
  const auto output = group(*this, "output");
  output_ = output->register_module("dense", bert_linear(inner, width, device));
  output_norm_ = output->register_module("LayerNorm", norm());
  output_dropout_ = output->register_module("dropout", dropout(options.hidden_dropout_prob, "output"));
}

at::Tensor BertLayer::forward(const at::Tensor& states, const at::Tensor& seen) {
  const at::Tensor mixed = attend(linear(states, *query_), linear(states, *key_), linear(states, *value_),
                                  heads_, seen, weight_dropout_.get());
  const at::Tensor attended =
      attention_norm_->forward(attention_dropout_->forward(linear(mixed, *mixed_)) + states);
  const at::Tensor inner = at::gelu(linear(attended, *intermediate_));
  return output_norm_->forward(output_dropout_->forward(linear(inner, *output_)) + attended);
}

}  // namespace larmor::nn
