#include "larmor/kernels/draw/draw.h"

#include <functional>
#include <stdexcept>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/seed.h"
#include "larmor/device/draw_position.h"

namespace larmor::testing {
namespace {

DrawPosition position_of(std::vector<int64_t> examples, int64_t epoch = 0, uint64_t seed = 1) {
  std::vector<int64_t> epochs(examples.size(), epoch), positions;
  for (const int64_t example : examples) positions.push_back(10 + example);
  return {.seed = seed,
          .epochs = std::move(epochs),
          .examples = std::move(examples),
          .positions = std::move(positions)};
}

at::Tensor drawn(std::vector<int64_t> examples, int64_t epoch = 0, uint64_t seed = 1) {
  const auto rows = static_cast<int64_t>(examples.size());
  const DrawScope scope(position_of(std::move(examples), epoch, seed));
  return draw_normal_like(at::empty({rows, 2, 3}), "posterior");
}

struct Kind {
  std::string name;
  std::function<at::Tensor(int64_t rows)> draw;
};

std::vector<Kind> kinds() {
  return {{"normal", [](int64_t rows) { return draw_normal_like(at::empty({rows, 300}), "noise"); }},
          {"uniform", [](int64_t rows) { return draw_uniform_like(at::empty({rows, 300}), "noise"); }},
          {"kept", [](int64_t rows) { return draw_kept_like(at::empty({rows, 300}), 0.5, "noise"); }},
          {"dropout", [](int64_t rows) { return draw_dropout(at::ones({rows, 300}), 0.5, "noise"); }},
          {"integers", [](int64_t) { return draw_integers(1000000, "noise"); }},
          {"antithetic", [](int64_t) { return draw_antithetic(1000000, "noise"); }}};
}

TEST(Draw, BelongsToTheExampleHoweverTheBatchIsCut) {
  for (const Kind& kind : kinds()) {
    SCOPED_TRACE(kind.name);
    const auto of = [&kind](const std::vector<int64_t>& examples) {
      const DrawScope scope(position_of(examples));
      return kind.draw(static_cast<int64_t>(examples.size()));
    };
    const at::Tensor together = of({4, 7, 9});
    EXPECT_TRUE(together[0].equal(of({4})[0]));
    EXPECT_TRUE(together[2].equal(of({9, 7})[0]));
    EXPECT_FALSE(together[1].equal(together[2]));
  }
}

TEST(Draw, ChangesWithExampleEpochAndSeed) {
  const auto reference = drawn({4});
  EXPECT_FALSE(reference.equal(drawn({5})));
  EXPECT_FALSE(reference.equal(drawn({4}, 1)));
  EXPECT_FALSE(reference.equal(drawn({4}, 0, 2)));
  EXPECT_TRUE(reference.equal(drawn({4})));
}

TEST(Draw, ChangesWithTheTurnAndIsInTheFirstWhatItWasBeforeThereWereTurns) {
  for (const auto& [name, draw] : kinds()) {
    SCOPED_TRACE(name);
    const DrawScope scope(position_of({4, 6}));
    const at::Tensor first = draw(2);
    at::Tensor second, third;
    {
      const DrawTurn turn(1);
      second = draw(2);
    }
    {
      const DrawTurn turn(2);
      third = draw(2);
    }
    EXPECT_FALSE(first.equal(second));
    EXPECT_FALSE(second.equal(third));
  }
  std::vector<float> expected(6);
  fill_normal(make_key(/*seed=*/1, /*epoch=*/0, /*example=*/4, "posterior"), expected);
  EXPECT_TRUE(drawn({4}).view(-1).equal(at::tensor(expected)));
}

TEST(Draw, TakesTheTypeOfTheTensorItIsLike) {
  const auto of = [](at::ScalarType type) {
    const DrawScope scope(position_of({3}));
    return draw_normal_like(at::empty({1, 4}, type), "posterior");
  };
  EXPECT_EQ(of(at::kDouble).scalar_type(), at::kDouble);
  EXPECT_TRUE(of(at::kDouble).to(at::kFloat).equal(of(at::kFloat)));
}

TEST(Draw, IsRefusedWhereNoScopeNamesTheExamples) {
  for (const auto& [name, draw] : kinds()) {
    SCOPED_TRACE(name);
    EXPECT_THROW(draw(1), std::logic_error);
  }
  const DrawScope scope(position_of({3}));
  EXPECT_THROW(draw_normal_like(at::zeros({2, 2}), "noise"), std::logic_error);
}

TEST(Draw, IsRefusedForAPurposeThatHasBeenDrawn) {
  for (const auto& [name, draw] : kinds()) {
    SCOPED_TRACE(name);
    const DrawScope scope(position_of({3}));
    draw(1);
    EXPECT_THROW(draw(1), std::logic_error);
  }
}

TEST(Draw, IntegersAreSpreadEvenly) {
  std::vector<int64_t> examples(20000);
  for (size_t i = 0; i < examples.size(); ++i) examples[i] = static_cast<int64_t>(i);
  const DrawScope scope(position_of(examples));
  for (const at::Tensor& drawn : {draw_integers(10, "time"), draw_antithetic(10, "other time")}) {
    EXPECT_EQ(drawn.scalar_type(), at::kLong);
    const at::Tensor counts = at::bincount(drawn, {}, 10).to(at::kDouble);
    EXPECT_EQ(counts.size(0), 10);
    const double chi_square = ((counts - 2000).square() / 2000).sum().item<double>();
    EXPECT_LT(chi_square, 27.9);  // 0.1 % of draws lie above, with nine degrees of freedom
  }
}

TEST(Draw, AntitheticPairsMirrorEachOtherByPositionAlone) {
  constexpr int64_t below = 1000;
  DrawPosition position{
      .seed = 1, .epochs = {0, 0, 3, 3}, .examples = {8, 2, 5, 9}, .positions = {6, 7, 8, 9}};
  at::Tensor whole;
  {
    const DrawScope scope(position);
    whole = draw_antithetic(below, "time");
  }
  EXPECT_EQ(whole[0].item<int64_t>() + whole[1].item<int64_t>(), below - 1);
  EXPECT_EQ(whole[2].item<int64_t>() + whole[3].item<int64_t>(), below - 1);
  EXPECT_NE(whole[0].item<int64_t>(), whole[2].item<int64_t>());
  // A rank that has the second of a pair alone draws what the whole batch has there.
  const DrawScope scope({.seed = 1, .epochs = {5}, .examples = {77}, .positions = {7}});
  EXPECT_TRUE(draw_antithetic(below, "time")[0].equal(whole[1]));
}

TEST(Draw, AntitheticPairsNeedPositions) {
  const DrawScope scope({.seed = 1, .epochs = {0}, .examples = {3}});
  EXPECT_THROW(draw_antithetic(10, "time"), std::logic_error);
}

TEST(Draw, OnTheMetaDeviceNothingIsDrawnAndEverythingHasItsShape) {
  const DrawScope scope(position_of({3, 4}));
  const at::Tensor like = at::empty({2, 5}, at::TensorOptions(at::kDouble).device(at::kMeta));
  EXPECT_EQ(draw_normal_like(like, "a").scalar_type(), at::kDouble);
  EXPECT_EQ(draw_uniform_like(like, "b").sizes(), like.sizes());
  EXPECT_EQ(draw_kept_like(like, 0.5, "c").scalar_type(), at::kBool);
  EXPECT_EQ(draw_dropout(like, 0.5, "d").sizes(), like.sizes());
  EXPECT_EQ(draw_integers(9, "e", at::kMeta).sizes(), at::IntArrayRef({2}));
  EXPECT_TRUE(draw_antithetic(9, "f", at::kMeta).is_meta());
}

}  // namespace
}  // namespace larmor::testing
