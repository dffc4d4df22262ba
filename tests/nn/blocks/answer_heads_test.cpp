#include "larmor/nn/blocks/answer_heads.h"

#include <algorithm>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/module_state.h"

namespace larmor::nn {
namespace {

const std::vector<AnswerHead> two_heads{{.name = "binary", .hidden = 5, .classes = 2},
                                        {.name = "region", .hidden = 4, .classes = 7}};

TEST(AnswerHeads, AreTwoLayersEachUnderTheirNames) {
  AnswerHeads heads(3, two_heads, /*drop=*/0);
  const auto weights = state_dict(heads);
  ASSERT_EQ(weights.size(), 8U);
  const at::Tensor features = at::randn({6, 3});
  const auto logits = heads.forward(features);
  ASSERT_EQ(logits.size(), 2U);
  for (std::size_t i = 0; i < two_heads.size(); ++i) {
    const auto weight = [&](const std::string& name) {
      return weights.at(two_heads[i].name + "_head." + name);
    };
    const at::Tensor hidden = at::relu(at::linear(features, weight("0.weight"), weight("0.bias")));
    EXPECT_TRUE(logits[i].equal(at::linear(hidden, weight("3.weight"), weight("3.bias"))));
    EXPECT_EQ(logits[i].size(1), two_heads[i].classes);
  }
}

TEST(AnswerHeads, StandOnTheMetaDeviceWithoutWeights) {
  AnswerHeads heads(3, two_heads, /*drop=*/0.1, c10::kMeta);
  EXPECT_TRUE(
      std::ranges::all_of(heads.parameters(), [](const at::Tensor& weight) { return weight.is_meta(); }));
}

TEST(AnswerHeads, RefuseWhatCannotBe) {
  EXPECT_THROW(AnswerHeads(3, {}, 0), Error);
  EXPECT_THROW(AnswerHeads(0, two_heads, 0), Error);
  EXPECT_THROW(AnswerHeads(3, {two_heads[0], two_heads[0]}, 0), Error);
  EXPECT_THROW(AnswerHeads(3, {{.name = "a.b", .hidden = 5, .classes = 2}}, 0), Error);
  EXPECT_THROW(AnswerHeads(3, {{.name = "a", .hidden = 5, .classes = 0}}, 0), Error);
}

}  // namespace
}  // namespace larmor::nn
