// BERT, an encoder of texts, under the names of Hugging Face's transformers.
// Source: Devlin et al. 2019; transformers.BertModel (5.23).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <torch/nn/pimpl.h>

#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::nn {

/// BertConfig's, by name. `attention_probs_dropout_prob` is 0.1 there: above 0 attention in training is
/// computed in parts, and by libtorch's fused kernels otherwise.
struct BertOptions {
  int64_t vocab_size = 28996;
  int64_t hidden_size = 768, num_hidden_layers = 12, num_attention_heads = 12, intermediate_size = 3072;
  int64_t max_position_embeddings = 512, type_vocab_size = 2;
  double hidden_dropout_prob = 0.1, attention_probs_dropout_prob = 0;
  double layer_norm_eps = 1e-12;

  /// Throws Error (usage): sizes below 1, and heads that do not divide the width.
  void check() const;
};

class BertEmbeddings;
class BertLayer;

/// Tokens of id 0 are padding: their word has no gradient.
class BertImpl : public torch::nn::Module {
 public:
  /// Weights are normal with deviation 0.02, biases 0, norms 1 and 0, from libtorch's default generator.
  /// `path` is where the network stands in its owner (Dropout). On c10::kMeta nothing is drawn or stored.
  /// Throws Error (usage) as `check` does.
  explicit BertImpl(const BertOptions& options, c10::Device device = c10::kCPU,
                    const std::string& path = "bert");
  ~BertImpl() override;

  /// ids [N, L] (int64), and where it is given which of them are tokens `seen` [N, L] (bool), and of which
  /// segment `types` [N, L] (int64, 0 by default), to the states of all tokens [N, L, hidden_size]. Tokens
  /// that are not seen have a state, too. Throws Error (usage) for more tokens than there are positions.
  at::Tensor forward(const at::Tensor& ids, const at::Tensor& seen = {}, const at::Tensor& types = {});
  /// [N, hidden_size] of the state of the first token.
  at::Tensor pooled(const at::Tensor& states);
  /// Its weights `pooler.dense.…`, which whoever does not call pooled() freezes.
  torch::nn::Module& pooler();

  const BertOptions& options() const { return options_; }

 private:
  BertOptions options_;
  std::shared_ptr<BertEmbeddings> embeddings_;
  std::vector<std::shared_ptr<BertLayer>> layers_;
  std::shared_ptr<torch::nn::Module> pooler_;
  std::shared_ptr<LayerWeights> pooler_dense_;
};
TORCH_MODULE(Bert);

}  // namespace larmor::nn
