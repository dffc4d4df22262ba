#include "larmor/nn/blocks/multihead_attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/functional/activation.h>
#include <torch/nn/modules/activation.h>

#include "larmor/device/module_state.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

TEST(MultiheadAttention, IsLibtorchs) {
  MultiheadAttention own(12, 3, 0.1, "attention", at::kCPU);
  torch::nn::MultiheadAttention theirs(torch::nn::MultiheadAttentionOptions(12, 3).dropout(0.1));
  load_state_dict(own, state_dict(*theirs));
  own.eval();
  theirs->eval();
  const at::Tensor tokens = testing::rule_input("tokens", {2, 5, 12}, -1, 1).to(at::kFloat);
  const at::Tensor context = testing::rule_input("context", {2, 7, 12}, -1, 1).to(at::kFloat);
  const at::Tensor seen = at::arange(7).unsqueeze(0) < at::tensor({7, 4}).unsqueeze(1);
  const auto [expected, weights] = theirs->forward(tokens.transpose(0, 1), context.transpose(0, 1),
                                                   context.transpose(0, 1), seen.logical_not());
  EXPECT_LE(testing::largest_difference(own.forward(tokens, context, seen), expected.transpose(0, 1)), 1e-5);
  EXPECT_LE(testing::largest_difference(own.weights(tokens, context, seen), weights), 1e-5);
}

}  // namespace
}  // namespace larmor::nn
