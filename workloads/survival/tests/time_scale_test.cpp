#include "workloads/survival/risk/time_scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cases.h"

namespace larmor::survival {
namespace {

using larmor::testing::error_of;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> scale_names(const std::vector<Horizon>& horizons) {
  std::vector<std::string> names;
  for (const auto& horizon : horizons) names.push_back(horizon.name);
  return names;
}

/// Followed for 900 days, with events from day 100 to day 800.
const SurvivalOutcomes table{.time = {100, 200, 400, 800, 900}, .event = {1, 1, 1, 1, 0}};

TEST(TimeScale, TurnsAHorizonIntoTheTablesUnit) {
  EXPECT_DOUBLE_EQ(horizon_of("2y", "d").time, 730.5);
  EXPECT_DOUBLE_EQ(horizon_of("1800d", "d").time, 1800);
  EXPECT_DOUBLE_EQ(horizon_of("6m", "y").time, 0.5);
  EXPECT_THAT(horizon_of("1w", "y").time, DoubleNear(7 / 365.25, 1e-12));
}

TEST(TimeScale, RefusesWhatIsNoTime) {
  for (const auto* written : {"5", "y", "-1y", "0d", "1 y", "1q", "nan y", ""})
    EXPECT_EQ(error_of([&] { horizon_of(written, "d"); })->exit(), Exit::usage) << written;
}

TEST(Horizons, AreTheWholeYearsThatTheTableReaches) {
  EXPECT_THAT(scale_names(choose_horizons({}, "d", table)), ElementsAre("1y", "2y"));
}

TEST(Horizons, AreQuartilesOfTheEventsWhereYearsAreOutOfReach) {
  EXPECT_THAT(scale_names(choose_horizons({}, "y", table)), ElementsAre("200y", "400y", "800y"));
}

TEST(Horizons, ComeInTheirOrderHoweverTheyAreAskedFor) {
  EXPECT_THAT(scale_names(choose_horizons({"700d", "1y"}, "d", table)), ElementsAre("1y", "700d"));
}

TEST(Horizons, AreRefusedWhereTheTableSaysNothing) {
  for (const auto* written : {"5y", "50d", "900d"}) {
    const auto error = error_of([&] { choose_horizons({written}, "d", table); });
    ASSERT_TRUE(error) << written;
    EXPECT_EQ(error->exit(), Exit::data);
    EXPECT_THAT(error->message(), HasSubstr("first event at 100d"));
  }
  EXPECT_EQ(error_of([] { choose_horizons({"1y", "365.25d"}, "d", table); })->exit(), Exit::usage);
}

TEST(Horizons, AreNoneWithoutEvents) {
  EXPECT_TRUE(choose_horizons({}, "d", {.time = {1, 2}, .event = {0, 0}}).empty());
}

}  // namespace
}  // namespace larmor::survival
