#include "larmor/watch/slow_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

/// What a step takes of a rank's own time.
struct Pace {
  double data = 0.01, computing = 0.1, communicating = 0.01, validating = 0, saving = 0;
};

/// Ranks whose steps take as long as told; all go at the speed of the slowest, and the others wait for it.
class Group {
 public:
  explicit Group(size_t ranks) : paces(ranks), statuses_(ranks) {}

  /// Steps until so many seconds have passed, looked at every second; whoever was named.
  std::vector<SlowRank> run(double seconds) {
    std::vector<SlowRank> named;
    const double end = now_ + seconds;
    for (double next_look = now_; now_ < end;) {
      step();
      if (now_ < next_look) continue;
      next_look = now_ + 1;
      for (auto& slow : watch_.look(statuses_, now_)) named.push_back(slow);
    }
    return named;
  }
  void start_again() {
    for (auto& status : statuses_) status = RankStatus();
  }

  std::vector<Pace> paces;

 private:
  void step() {
    double longest = 0;
    for (size_t rank = 0; rank < paces.size(); ++rank) {
      const Pace& pace = paces[rank];
      auto& status = statuses_[rank];
      of(status.seconds, Phase::waiting_for_data) += pace.data;
      of(status.seconds, Phase::computing) += pace.computing;
      of(status.seconds, Phase::communicating) += pace.communicating;
      of(status.seconds, Phase::validating) += pace.validating;
      of(status.seconds, Phase::saving) += pace.saving;
      ++status.step;
      longest =
          std::max(longest, pace.data + pace.computing + pace.communicating + pace.validating + pace.saving);
    }
    now_ += longest;
  }

  std::vector<RankStatus> statuses_;
  SlowWatch watch_;
  double now_ = 100;
};

TEST(SlowWatch, NamesASlowRankAfterThreeWindows) {
  Group group(4);
  group.paces[3].data = 0.09;  // 0.2 s instead of 0.12 s
  EXPECT_THAT(group.run(58), IsEmpty());
  const auto named = group.run(10);
  ASSERT_THAT(named, SizeIs(1));
  EXPECT_EQ(named[0].rank, 3);
  EXPECT_NEAR(named[0].speed, 0.6, 1e-6);
  EXPECT_EQ(named[0].phase, Phase::waiting_for_data);
  EXPECT_EQ(
      named[0].what,
      "rank 3 is slow: 0.60 of the median speed in the last three windows, mostly while waiting for data");
}

TEST(SlowWatch, NamesItOnceUntilItHasRecovered) {
  Group group(3);
  group.paces[1].computing = 0.3;
  EXPECT_THAT(group.run(300), SizeIs(1));
  group.paces[1].computing = 0.1;
  EXPECT_THAT(group.run(100), IsEmpty());
  group.paces[1].computing = 0.3;
  EXPECT_THAT(group.run(300), SizeIs(1));
}

TEST(SlowWatch, SaysNothingAboveThreeQuartersOfTheMedian) {
  Group group(4);
  group.paces[2].computing = 0.135;  // 0.155 s a step, 0.77 of the median speed
  EXPECT_THAT(group.run(500), IsEmpty());
  group.paces[2].computing = 0.145;  // 0.73
  EXPECT_THAT(group.run(500), SizeIs(1));
}

TEST(SlowWatch, ForgivesARankThatIsSlowNowAndThen) {
  Group group(2);
  for (int turn = 0; turn < 10; ++turn) {
    group.paces[1].computing = 0.3;
    EXPECT_THAT(group.run(20), IsEmpty());
    group.paces[1].computing = 0.1;
    EXPECT_THAT(group.run(45), IsEmpty());
  }
}

TEST(SlowWatch, ComparesTwoRanksWithTheFasterOne) {
  Group group(2);
  group.paces[0].computing = 0.2;
  const auto named = group.run(100);
  ASSERT_THAT(named, SizeIs(1));
  EXPECT_EQ(named[0].rank, 0);
  EXPECT_EQ(named[0].phase, Phase::computing);
}

TEST(SlowWatch, FindsTheSlowPhaseWhereverItIs) {
  Group group(4);
  group.paces[0].saving = 0.2;
  const auto saving = group.run(100);
  ASSERT_THAT(saving, SizeIs(1));
  EXPECT_EQ(saving[0].phase, Phase::saving);
  group.paces[0].saving = 0;
  group.paces[1].communicating = 0.2;
  const auto communicating = group.run(150);
  ASSERT_THAT(communicating, SizeIs(1));
  EXPECT_EQ(communicating[0].rank, 1);
  EXPECT_EQ(communicating[0].phase, Phase::communicating);
}

TEST(SlowWatch, DoesNotCountWhatRanksHaveInUnequalNumber) {
  Group group(2);
  group.paces[0].validating = 0.3;
  EXPECT_THAT(group.run(500), IsEmpty());
}

TEST(SlowWatch, DoesNotMindWhatCostsTheGroupNothing) {
  Group group(4);
  for (auto& pace : group.paces)
    pace = {.data = 0.0, .computing = 0.001, .communicating = 0, .validating = 1};
  group.paces[2].computing = 0.003;
  EXPECT_THAT(group.run(500), IsEmpty());
}

TEST(SlowWatch, WaitsForTenStepsWhenStepsAreLong) {
  Group group(2);
  group.paces[0].computing = 10;
  group.paces[1].computing = 30;
  EXPECT_THAT(group.run(880), IsEmpty());
  EXPECT_THAT(group.run(100), SizeIs(1));
}

TEST(SlowWatch, BeginsAnewWithTheRanksOfARestart) {
  Group group(2);
  group.paces[1].computing = 0.3;
  EXPECT_THAT(group.run(50), IsEmpty());
  group.start_again();
  EXPECT_THAT(group.run(58), IsEmpty());
  EXPECT_THAT(group.run(20), SizeIs(1));
}

TEST(SlowWatch, IsContentWithOneRankAndWithNone) {
  EXPECT_THAT(Group(1).run(300), IsEmpty());
  EXPECT_THAT(SlowWatch().look({}, 0), IsEmpty());
  SlowWatch watch;
  watch.look({}, 0);
  EXPECT_THAT(watch.look({}, 100), IsEmpty());
}

}  // namespace
}  // namespace larmor
