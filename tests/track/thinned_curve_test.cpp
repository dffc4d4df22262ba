#include "larmor/track/thinned_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ThinnedCurve, KeepsEachValueOfAShortRun) {
  ThinnedCurve curve;
  for (const double step : {1, 2, 5}) curve.add(step, 10 * step);
  EXPECT_THAT(curve.points(), ElementsAre(Pair(1, 10), Pair(2, 20), Pair(5, 50)));
}

TEST(ThinnedCurve, IsMadeOfMeansOfAsManyValuesWhereTheRunIsLong) {
  ThinnedCurve curve;
  constexpr int steps = 12'345;
  for (int step = 1; step <= steps; ++step) curve.add(step, step % 2 == 0 ? 1 : 3);
  const auto points = curve.points();
  EXPECT_LE(points.size(), 1000U);
  EXPECT_GE(points.size(), 500U);
  EXPECT_EQ(points.front(), ThinnedCurve::Point(8.5, 2)) << "sixteen values, as many of either";
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    EXPECT_EQ(points[i].second, 2);
    EXPECT_LT(points[i].first, points[i + 1].first);
  }
  EXPECT_LE(points.back().first, steps);
}

TEST(ThinnedCurve, TakesBackTheStepsThatARunDoesAgain) {
  ThinnedCurve curve;
  for (int step = 1; step <= 10; ++step) curve.add(step, 1);
  for (int step = 6; step <= 8; ++step) curve.add(step, 2);
  EXPECT_THAT(curve.points(), ElementsAre(Pair(1, 1), Pair(2, 1), Pair(3, 1), Pair(4, 1), Pair(5, 1),
                                          Pair(6, 2), Pair(7, 2), Pair(8, 2)));
}

}  // namespace
}  // namespace larmor
