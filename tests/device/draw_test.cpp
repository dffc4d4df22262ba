#include "larmor/device/draw.h"

#include <stdexcept>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

at::Tensor drawn(std::vector<int64_t> examples, int64_t epoch = 0, uint64_t seed = 1) {
  const auto rows = static_cast<int64_t>(examples.size());
  const std::vector<int64_t> epochs(examples.size(), epoch);
  const DrawScope scope({.seed = seed, .epochs = epochs, .examples = std::move(examples)});
  return draw_normal_like(at::empty({rows, 2, 3}), "posterior");
}

TEST(Draw, BelongsToTheExampleHoweverTheBatchIsCut) {
  const auto together = drawn({4, 7, 9});
  EXPECT_TRUE(together[0].equal(drawn({4})[0]));
  EXPECT_TRUE(together[2].equal(drawn({9, 7})[0]));
}

TEST(Draw, ChangesWithExampleEpochAndSeed) {
  const auto reference = drawn({4});
  EXPECT_FALSE(reference.equal(drawn({5})));
  EXPECT_FALSE(reference.equal(drawn({4}, 1)));
  EXPECT_FALSE(reference.equal(drawn({4}, 0, 2)));
  EXPECT_TRUE(reference.equal(drawn({4})));
}

TEST(Draw, TakesTheTypeOfTheTensorItIsLike) {
  const DrawScope scope({.seed = 1, .epochs = {0}, .examples = {3}});
  const auto wide = draw_normal_like(at::empty({1, 4}, at::kDouble), "posterior");
  const auto narrow = draw_normal_like(at::empty({1, 4}, at::kFloat), "posterior");
  EXPECT_EQ(wide.scalar_type(), at::kDouble);
  EXPECT_TRUE(wide.to(at::kFloat).equal(narrow));
}

TEST(Draw, IsRefusedWhereNoScopeNamesTheExamples) {
  EXPECT_THROW(draw_normal_like(at::zeros({1, 2}), "noise"), std::logic_error);
  const DrawScope scope({.seed = 1, .epochs = {0}, .examples = {3}});
  EXPECT_THROW(draw_normal_like(at::zeros({2, 2}), "noise"), std::logic_error);
}

TEST(Draw, ScopesNestAndGiveThePositionBack) {
  const DrawScope outer({.seed = 1, .epochs = {0}, .examples = {3}});
  {
    const DrawScope inner({.seed = 1, .epochs = {0}, .examples = {8}});
    EXPECT_EQ(draw_position().examples, std::vector<int64_t>{8});
  }
  EXPECT_EQ(draw_position().examples, std::vector<int64_t>{3});
}

}  // namespace
}  // namespace larmor::testing
