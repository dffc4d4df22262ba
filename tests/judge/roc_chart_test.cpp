#include "larmor/judge/roc_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

/// Scores in tenths of which every second row has it; `shift` moves those that have it up.
ScoredTruths scores_shifted(const std::string& name, double shift) {
  ScoredTruths scores{.name = name};
  for (int64_t row = 0; row < 20; ++row) {
    const bool truth = row % 2 == 0;
    scores.rows.push_back(
        {.example = row, .truth = truth, .score = static_cast<double>(row / 2) / 10 + (truth ? shift : 0)});
  }
  return scores;
}

std::vector<std::string> names_of(const std::vector<std::pair<std::string, Image>>& charts) {
  std::vector<std::string> names;
  for (const auto& [name, image] : charts) names.push_back(name);
  return names;
}

std::vector<ScoredTruths> many(int count) {
  std::vector<ScoredTruths> all;
  for (int i = 0; i < count; ++i) all.push_back(scores_shifted(text("label ", i), 0.1 * i));
  return all;
}

TEST(RocCharts, HaveAsManyCurvesAsColoursThatAreToldApart) {
  EXPECT_THAT(names_of(roc_charts(many(7))), ElementsAre("roc"));
  EXPECT_THAT(names_of(roc_charts(many(8))), ElementsAre("roc", "roc_2"));
}

TEST(RocCharts, LeaveOutWhatHasNoCurve) {
  EXPECT_TRUE(roc_charts({}).empty());
  ScoredTruths alike{.name = "alike", .rows = {{.score = 0.5}, {.score = 0.7}}};
  EXPECT_TRUE(roc_charts({alike}).empty()) << "nobody has it";
  auto scores = many(7);
  scores.push_back(alike);
  EXPECT_THAT(names_of(roc_charts(scores)), ElementsAre("roc"));
}

TEST(RocCharts, AreDrawnLargeAndShowTheScores) {
  const auto chance = roc_charts({scores_shifted("x", 0)}), better = roc_charts({scores_shifted("x", 0.35)});
  EXPECT_GE(chance.front().second.width, 512);
  EXPECT_GE(chance.front().second.height, 512);
  EXPECT_NE(chance.front().second.pixels, better.front().second.pixels);
}

}  // namespace
}  // namespace larmor::testing
