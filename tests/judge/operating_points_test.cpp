#include "larmor/judge/operating_points.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/formats/csv.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;

/// Row i is of example i.
ScoredTruths scored(const std::string& name, const std::vector<std::pair<double, bool>>& rows) {
  ScoredTruths one{.name = name};
  for (std::size_t i = 0; i < rows.size(); ++i)
    one.rows.push_back({.example = static_cast<int64_t>(i), .truth = rows[i].second, .score = rows[i].first});
  return one;
}

std::string each_its_own(int64_t example) { return text("p", example); }

TEST(OperatingPoints, AreSharesOfThoseWithAndThoseWithoutIt) {
  const auto rows = scored("x", {{0.9, true}, {0.8, false}, {0.4, true}, {0.3, false}, {0.2, false}}).rows;
  const auto point = operating_point(rows, 0.4);
  EXPECT_EQ(point.sensitivity, 1.0);
  EXPECT_DOUBLE_EQ(*point.specificity, 2.0 / 3);
  EXPECT_DOUBLE_EQ(*point.precision, 2.0 / 3);
  EXPECT_EQ(operating_point(rows, 1).precision, std::nullopt) << "nobody is called yes";
}

TEST(OperatingPoints, MakeACurveOverDistinctScores) {
  const auto curve = roc_curve(scored("x", {{0.5, true}, {0.5, false}, {0.9, true}, {0.1, false}}).rows);
  ASSERT_EQ(curve.size(), 3U);
  EXPECT_EQ(curve[0].threshold, 0.9);
  EXPECT_EQ(curve[0].sensitivity, 0.5);
  EXPECT_EQ(curve[1].sensitivity, 1.0) << "both of 0.5 at once";
  EXPECT_EQ(curve[1].specificity, 0.5);
  EXPECT_EQ(curve[2].specificity, 0.0);
  EXPECT_TRUE(roc_curve(scored("x", {{0.5, true}, {0.7, true}}).rows).empty());
}

// Source: Mann and Whitney: how often who has it has the higher score, equal scores counting half.
double share_in_order(const std::vector<ScoredTruths::Row>& rows) {
  double right = 0, pairs = 0;
  for (const auto& with : rows) {
    for (const auto& without : rows) {
      if (!with.truth || without.truth) continue;
      right += with.score > without.score ? 1 : with.score == without.score ? 0.5 : 0;
      ++pairs;
    }
  }
  return right / pairs;
}

TEST(OperatingPoints, HaveTheAreaThatCountingPairsGives) {
  std::vector<std::pair<double, bool>> rows;
  for (int row = 0; row < 60; ++row) rows.emplace_back(row * 7 % 11, row * 5 % 13 > 5 + row % 3);
  const auto some = scored("x", rows).rows;
  EXPECT_NEAR(area_under(roc_curve(some)), share_in_order(some), 1e-12);
  EXPECT_EQ(area_under(roc_curve(scored("x", {{0.9, true}, {0.8, true}, {0.1, false}}).rows)), 1);
  EXPECT_EQ(area_under(roc_curve(scored("x", {{0.5, true}, {0.5, false}}).rows)), 0.5);
}

TEST(OperatingPoints, AreChosenByYoudensJOrByTheSensitivityAskedFor) {
  const auto curve = roc_curve(
      scored("x", {{0.9, true}, {0.8, true}, {0.7, false}, {0.6, false}, {0.5, true}, {0.1, false}}).rows);
  const auto rules = threshold_rules();
  EXPECT_EQ(choose_threshold(curve, rules[0]), 0.8);
  EXPECT_EQ(choose_threshold(curve, rules[1]), 0.5);
  EXPECT_EQ(choose_threshold({}, rules[0]), std::nullopt);
}

// Chosen on the judged rows it would be 0.4, and without an error.
TEST(OperatingPoints, AreJudgedOnOthersThanThoseWhoChoseThem) {
  const auto val = scored("x", {{0.9, true}, {0.8, false}, {0.7, false}});
  const auto test = scored("x", {{0.95, true}, {0.4, true}, {0.3, false}});
  const auto judged = judge_thresholds({test}, "test", each_its_own, {val}, "val");
  ASSERT_EQ(judged.size(), 2U);
  EXPECT_EQ(judged[0].point->threshold, 0.9);
  EXPECT_EQ(judged[0].point->sensitivity, 0.5);
  EXPECT_EQ(judged[0].chosen_on, "val");
  EXPECT_EQ(judged[0].chosen_rows, 3);
  EXPECT_EQ(judged[0].judged_yes, 2);
}

TEST(OperatingPoints, OfOneSplitAreChosenOnHalfOfItsPatients) {
  std::vector<std::pair<double, bool>> rows;
  for (int i = 0; i < 40; ++i) rows.emplace_back(i % 20, i % 20 >= 10);
  const auto patient_of = [](int64_t example) { return text("p", example % 20); };  // two rows each
  const auto judged = judge_thresholds({scored("x", rows)}, "val", patient_of, {}, "");
  EXPECT_EQ(judged[0].chosen_on, "half of the patients of val");
  EXPECT_EQ(judged[0].chosen_rows, 20);
  EXPECT_EQ(judged[0].judged_rows, 20);
  EXPECT_EQ(judged[0].judged_patients, 10);
  EXPECT_GE(judged[0].point->threshold, 10);
  ASSERT_TRUE(judged[1].point);
}

TEST(OperatingPoints, AreNoneWhereNobodyTellsThemApart) {
  const auto of_one_kind = judge_thresholds({scored("x", {{0.9, true}, {0.1, false}})}, "test", each_its_own,
                                            {scored("x", {{0.5, false}, {0.6, false}})}, "val");
  EXPECT_FALSE(of_one_kind[0].point);
  EXPECT_EQ(of_one_kind[0].reason, "all 2 of val are without it");
  const auto of_nobody = judge_thresholds({scored("x", {{0.9, true}})}, "test", each_its_own,
                                          {scored("y", {{0.5, false}})}, "val");
  EXPECT_EQ(of_nobody[0].reason, "there is nobody to choose it on in val");
  const auto one_patient = judge_thresholds(
      {scored("x", {{0.9, true}, {0.1, false}})}, "val", [](int64_t) { return std::string("ann"); }, {}, "");
  EXPECT_FALSE(one_patient[0].point);
}

TEST(OperatingPoints, LeaveOutScoresThatAreNoNumbers) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const auto judged = judge_thresholds({scored("x", {{0.9, true}, {none, true}, {0.1, false}})}, "test",
                                       each_its_own, {scored("x", {{0.5, true}, {0.4, false}})}, "val");
  EXPECT_EQ(judged[0].judged_rows, 2);
  EXPECT_EQ(judged[0].point->sensitivity, 1.0);
}

TEST(OperatingPoints, StandInTables) {
  const auto test = scored("x", {{0.9, true}, {0.4, false}});
  const auto roc = parse_csv(roc_table({test}), "roc.csv");
  EXPECT_THAT(roc.columns,
              ElementsAre("name", "threshold", "sensitivity", "false_positive_rate", "precision"));
  EXPECT_THAT(roc.rows.at(0).cells, ElementsAre("x", "0.9", "1", "0", "1"));
  EXPECT_THAT(roc.rows.at(1).cells, ElementsAre("x", "0.4", "1", "1", "0.5"));
  const auto judged = judge_thresholds({test}, "test", each_its_own, {test}, "val");
  const auto table = parse_csv(thresholds_table(judged), "thresholds.csv");
  EXPECT_EQ(table.rows.at(1).cells.at(1), "sensitivity 0.9");
  EXPECT_EQ(table.rows.at(0).cells.at(static_cast<std::size_t>(table.find("specificity"))), "1");
  const auto json = to_json(judged);
  EXPECT_EQ(json.at(0).at("threshold"), 0.9);
  EXPECT_EQ(json.at(0).at("precision"), 1);
}

// 30 patients of whom each threshold calls about two thirds rightly.
TEST(OperatingPoints, HaveIntervalsOverPatients) {
  std::vector<std::pair<double, bool>> rows;
  for (int i = 0; i < 60; ++i) rows.emplace_back(i % 3 == 0 ? 1 - i % 2 : i % 2, i % 2 == 1);
  const auto judged = judge_thresholds(
      {scored("x", rows)}, "test", [](int64_t example) { return text("p", example / 2); },
      {scored("x", {{0.9, true}, {0.1, false}})}, "val");
  ASSERT_TRUE(judged[0].sensitivity);
  EXPECT_LT(judged[0].sensitivity->first, *judged[0].point->sensitivity);
  EXPECT_GT(judged[0].sensitivity->second, *judged[0].point->sensitivity);
}

}  // namespace
}  // namespace larmor::testing
