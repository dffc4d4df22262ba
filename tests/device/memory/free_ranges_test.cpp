#include "larmor/device/memory/free_ranges.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

TEST(FreeRanges, GivesTheSmallestPartWithRoomAndOfEqualOnesTheFirst) {
  FreeRanges ranges;
  ranges.give(0, 100);
  ranges.give(200, 10);
  ranges.give(300, 20);
  ranges.give(400, 20);
  EXPECT_EQ(ranges.take(15), 300);
  EXPECT_EQ(ranges.take(5), 315) << "what was left of that part is a part";
  EXPECT_EQ(ranges.take(20), 400);
  EXPECT_EQ(ranges.take(20), 0);
  EXPECT_EQ(ranges.take(81), std::nullopt);
}

TEST(FreeRanges, JoinsAPartWithBothNeighbours) {
  FreeRanges ranges;
  ranges.give(0, 10);
  ranges.give(20, 10);
  EXPECT_EQ(ranges.take(30), std::nullopt);
  ranges.give(10, 10);
  EXPECT_EQ(ranges.take(30), 0);
}

TEST(FreeRanges, KnowsWhatIsFreeBeforeAnEnd) {
  FreeRanges ranges;
  EXPECT_EQ(ranges.free_before(10), 0);
  ranges.give(4, 6);
  EXPECT_EQ(ranges.free_before(10), 6);
  EXPECT_EQ(ranges.free_before(11), 0);
}

TEST(FreeRanges, NeverGivesAByteTwiceAndLosesNone) {
  constexpr size_t all = 5000;
  FreeRanges ranges;
  ranges.give(0, all);
  std::map<size_t, size_t> taken;
  std::mt19937 chance(7);
  for (int call = 0; call < 5000; ++call) {
    if (taken.empty() || chance() % 2 == 0) {
      const size_t bytes = 1 + chance() % 200;
      const auto first = ranges.take(bytes);
      if (!first) continue;
      const auto next = taken.lower_bound(*first);
      ASSERT_TRUE(next == taken.end() || *first + bytes <= next->first);
      ASSERT_TRUE(next == taken.begin() || std::prev(next)->first + std::prev(next)->second <= *first);
      taken.emplace(*first, bytes);
    } else {
      const auto gone = std::next(taken.begin(), static_cast<int64_t>(chance() % taken.size()));
      ranges.give(gone->first, gone->second);
      taken.erase(gone);
    }
  }
  for (const auto& [first, bytes] : taken) ranges.give(first, bytes);
  EXPECT_EQ(ranges.take(all), 0);
}

}  // namespace
}  // namespace larmor::testing
