#include "larmor/nn/networks/bert/bert.h"

#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/module_state.h"
#include "larmor/device/run_block.h"

#include "tests/nn/support/golden_encoders.h"

namespace larmor::nn {
namespace {

BertOptions small_bert() {
  BertOptions options;
  options.vocab_size = 50;
  options.hidden_size = 16;
  options.num_hidden_layers = 3;
  options.num_attention_heads = 4;
  options.intermediate_size = 24;
  options.max_position_embeddings = 12;
  return options;
}

TEST(BertGolden, EqualsTheReferenceOfThreeLayers) {
  const auto golden = testing::Golden::shared("bert_small");
  if (!golden) GTEST_SKIP() << "bert_small is not on this machine";
  BertOptions options;
  options.vocab_size = 500;
  options.hidden_size = 64;
  options.num_hidden_layers = 3;
  options.num_attention_heads = 4;
  options.intermediate_size = 128;
  options.max_position_embeddings = 64;
  testing::expect_golden_bert(*golden, options, "");
}

TEST(Bert, HasAsManyParametersAsTheReference) {
  EXPECT_EQ(parameter_count(*Bert(BertOptions(), at::kMeta)), 108'310'272);
}

TEST(Bert, NamesItsWeightsAsTransformers) {
  const auto weights = state_dict(*Bert(small_bert(), at::kMeta));
  for (const char* name :
       {"embeddings.word_embeddings.weight", "embeddings.LayerNorm.bias",
        "encoder.layer.2.attention.self.query.weight", "encoder.layer.0.attention.output.LayerNorm.weight",
        "encoder.layer.1.intermediate.dense.bias", "encoder.layer.1.output.dense.weight",
        "pooler.dense.weight"})
    EXPECT_TRUE(weights.contains(name)) << name;
  EXPECT_EQ(weights.size(), 5U + 3 * 16 + 2);
}

/// States and gradients of a pass with dropout of states, and of attention where it is asked for.
std::vector<at::Tensor> bert_dropout_pass(double attention_drop, Recompute recompute) {
  BertOptions options = small_bert();
  options.hidden_dropout_prob = 0.2;
  options.attention_probs_dropout_prob = attention_drop;
  Bert network(options);
  network->to(at::kDouble);
  testing::rule_fill(*network);
  const DrawScope draws({.seed = 3, .epochs = {0, 0}, .examples = {4, 9}});
  const RecomputeScope scope(recompute);
  const at::Tensor ids = at::arange(20).view({2, 10});
  at::Tensor seen = at::ones({2, 10}, at::kBool);
  seen[1].narrow(0, 6, 4).fill_(false);
  const at::Tensor states = network->forward(ids, seen);
  (states * testing::rule_input("weights", states.sizes(), -1, 1)).sum().backward();
  std::vector<at::Tensor> all{states.detach()};
  for (const auto& item : network->named_parameters()) {
    if (!item.key().starts_with("pooler")) all.push_back(item.value().grad());
  }
  return all;
}

TEST(Bert, GivesTheSameGradientsWhenLayersAreComputedAgain) {
  for (const double attention_drop : {0.0, 0.3}) {
    const auto kept = bert_dropout_pass(attention_drop, Recompute::none);
    for (const Recompute recompute : {Recompute::blocks, Recompute::all}) {
      const auto again = bert_dropout_pass(attention_drop, recompute);
      ASSERT_EQ(again.size(), kept.size());
      for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(at::equal(again[i], kept[i])) << i;
    }
  }
  EXPECT_GT(testing::largest_difference(bert_dropout_pass(0.0, Recompute::none)[0],
                                        bert_dropout_pass(0.3, Recompute::none)[0]),
            1e-3);
}

TEST(Bert, DoesNotLookAtPadding) {
  Bert network(small_bert());
  network->eval();
  const at::NoGradGuard no_gradient;
  const at::Tensor ids = at::tensor({3, 7, 9, 4}, at::kLong).unsqueeze(0);
  const at::Tensor padded = at::constant_pad_nd(ids, {0, 5}), seen = at::arange(9).unsqueeze(0) < 4;
  const at::Tensor alone = network->forward(ids);
  EXPECT_LE(testing::largest_difference(network->forward(padded, seen).narrow(1, 0, 4), alone), 1e-5);
  EXPECT_GT(testing::largest_difference(network->forward(padded).narrow(1, 0, 4), alone), 1e-3);
}

TEST(Bert, AttendsInPartsAsTheFusedKernelDoes) {
  BertOptions options = small_bert();
  options.hidden_dropout_prob = 0;
  options.attention_probs_dropout_prob = 1e-12;  // in parts, and nothing is dropped
  options.num_hidden_layers = 1;
  Bert network(options);
  network->to(at::kDouble);
  const DrawScope draws({.seed = 3, .epochs = {0}, .examples = {4}});
  const at::NoGradGuard no_gradient;
  const at::Tensor ids = at::arange(8).unsqueeze(0), seen = ids < 5;
  const at::Tensor in_parts = network->forward(ids, seen);
  network->eval();
  EXPECT_LE(testing::largest_difference(in_parts, network->forward(ids, seen)), 1e-10);
}

TEST(Bert, RefusesWhatDoesNotFit) {
  Bert network(small_bert());
  EXPECT_THROW(network->forward(at::zeros({1, 13}, at::kLong)), Error);
  BertOptions options = small_bert();
  options.num_attention_heads = 3;
  EXPECT_THROW(options.check(), Error);
}

}  // namespace
}  // namespace larmor::nn
