#include "larmor/nn/networks/bert/bert.h"

#include <algorithm>

#include <ATen/ops/ones_like.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros_like.h>
#include <torch/nn/modules/container/modulelist.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/run_block.h"
#include "larmor/nn/blocks/block.h"
#include "larmor/nn/blocks/shape_text.h"
#include "larmor/nn/networks/bert/bert_layer.h"
#include "larmor/nn/networks/checked.h"

namespace larmor::nn {
void BertOptions::check() const {
  const bool fits = std::min({vocab_size, hidden_size, num_hidden_layers, num_attention_heads,
                              intermediate_size, max_position_embeddings, type_vocab_size}) >= 1 &&
                    hidden_size % num_attention_heads == 0;
  if (!fits)
    fail(Exit::usage,
         text("a BERT of width ", hidden_size, " with ", num_attention_heads, " heads and ",
              num_hidden_layers, " layers cannot be"),
         "give at least 1 of everything, and heads that divide the width");
}

BertImpl::BertImpl(const BertOptions& options, c10::Device device, const std::string& path)
    : options_(checked(options)) {
  embeddings_ =
      register_module("embeddings", std::make_shared<BertEmbeddings>(options_, path + ".embeddings", device));
  const auto encoder = register_module("encoder", std::make_shared<torch::nn::Module>());
  torch::nn::ModuleList list;
  for (int64_t i = 0; i < options_.num_hidden_layers; ++i) {
    layers_.push_back(std::make_shared<BertLayer>(options_, text(path, ".layer.", i), device));
    list->push_back(layers_.back());
  }
  encoder->register_module("layer", list);
  pooler_ = register_module("pooler", std::make_shared<torch::nn::Module>());
  pooler_dense_ = pooler_->register_module(
      "dense", linear_weights(options_.hidden_size, options_.hidden_size, /*has_bias=*/true, device));
  pooler_dense_->draw_normal(bert_deviation);
}

BertImpl::~BertImpl() = default;

at::Tensor BertImpl::forward(const at::Tensor& ids, const at::Tensor& seen, const at::Tensor& types) {
  if (ids.dim() != 2 || ids.size(1) > options_.max_position_embeddings)
    fail(Exit::usage,
         text("this BERT takes tokens [N, L] of at most ", options_.max_position_embeddings,
              " positions, and got ", shape_text(ids.sizes())),
         "cut texts after as many tokens");
  const at::Tensor segments = types.defined() ? types : at::zeros_like(ids);
  const at::Tensor tokens = seen.defined() ? seen : at::ones_like(ids, ids.options().dtype(at::kBool));
  return run_blocks(layers_, run_block(embeddings_, ids, segments), tokens);
}

at::Tensor BertImpl::pooled(const at::Tensor& states) {
  return at::tanh(linear(states.select(1, 0), *pooler_dense_));
}

torch::nn::Module& BertImpl::pooler() { return *pooler_; }

}  // namespace larmor::nn
