#include "larmor/base/clock.h"

#include <gtest/gtest.h>

namespace larmor {
namespace {

TEST(UtcText, ShowsTheSecondInBothForms) {
  EXPECT_EQ(utc_text(1772460309.9), "2026-03-02T14:05:09Z");
  EXPECT_EQ(utc_text(1772460309.9, true), "20260302-140509");
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
}

TEST(ManualClock, MovesOnlyWhenTold) {
  ManualClock clock;
  clock.set(5);
  EXPECT_EQ(clock.steady_seconds(), 5);
  clock.sleep(2.5);
  EXPECT_EQ(clock.wall_seconds(), 7.5);
}

TEST(SystemClock, NeverRunsBackwardsAndSleepsAtLeastAsLongAsAsked) {
  SystemClock clock;
  const double before = clock.steady_seconds();
  clock.sleep(0.002);
  EXPECT_GE(clock.steady_seconds() - before, 0.002);
  EXPECT_GT(clock.wall_seconds(), 1.7e9);
  clock.sleep(-1);
}

}  // namespace
}  // namespace larmor
