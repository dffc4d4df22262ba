#include "larmor/draw/ticks.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor::drawing {
namespace {

using ::testing::ElementsAre;

TEST(RoundTicks, AreMultiplesOfOneTwoOrFive) {
  EXPECT_THAT(round_ticks({0, 1}, 6).numerals, ElementsAre("0", "0.2", "0.4", "0.6", "0.8", "1.0"));
  EXPECT_THAT(round_ticks({0, 1}, 6).places, ElementsAre(0, 0.2, 0.4, 0.6, 0.8, 1));
  EXPECT_THAT(round_ticks({0, 8.3}, 6).numerals, ElementsAre("0", "2", "4", "6", "8"));
  EXPECT_THAT(round_ticks({-0.03, 0.12}, 5).numerals, ElementsAre("0", "0.05", "0.10"));
  EXPECT_THAT(round_ticks({1234, 1534}, 6).numerals,
              ElementsAre("1250", "1300", "1350", "1400", "1450", "1500"));
  EXPECT_THAT(round_ticks({-700, 700}, 4).numerals, ElementsAre("-500", "0", "500"));
}

TEST(RoundTicks, WriteShortNumeralsForWhatIsVeryLargeOrSmall) {
  EXPECT_THAT(round_ticks({0, 3e-7}, 3).numerals, ElementsAre("0", "1e-07", "2e-07", "3e-07"));
  EXPECT_THAT(round_ticks({0, 6e9}, 3).numerals, ElementsAre("0", "2e+09", "4e+09", "6e+09"));
}

TEST(RoundTicks, AreAsManyAsThereIsRoomFor) {
  for (double span = 1e-140; span < 1e140; span *= 7.3) {
    for (const double low : {0.0, -span / 3, span * 17}) {
      const size_t count = round_ticks({low, low + span}, 6).places.size();
      EXPECT_GE(count, 2U) << low << " " << span;
      EXPECT_LE(count, 7U) << low << " " << span;
    }
  }
}

TEST(RoundedOut, EndsAtTicks) {
  for (double span = 1e-140; span < 1e140; span *= 7.3) {
    for (const double low : {0.0, -span / 3, span * 17}) {
      const Interval ends = rounded_out({low, low + span}, 6);
      const Ticks ticks = round_ticks(ends, 6);
      EXPECT_EQ(ticks.places.front(), ends.low) << low << " " << span;
      EXPECT_EQ(ticks.places.back(), ends.high) << low << " " << span;
      EXPECT_LE(ends.low, low + 1e-5 * span);
      EXPECT_GE(ends.high, low + span - 1e-5 * span);
    }
  }
  // 2 is the first choice; then it would take seven steps.
  EXPECT_EQ(rounded_out({0.9, 12.1}, 6).high, 15);
}

TEST(Widened, MakesRoomAroundAConstant) {
  EXPECT_EQ(widened({5, 5}).low, 4.5);
  EXPECT_EQ(widened({5, 5}).high, 5.5);
  EXPECT_EQ(widened({0, 0}).low, -1);
  EXPECT_EQ(widened({-0.25, 0.5}).low, -0.25);
  for (const double value : {0.0, 1.0, -3e7, 1e-160, 1e-12, 9e149}) {
    const Interval room = widened({value, std::nextafter(value, std::numeric_limits<double>::infinity())});
    EXPECT_GE(round_ticks(room, 6).places.size(), 2U) << value;
  }
}

}  // namespace
}  // namespace larmor::drawing
