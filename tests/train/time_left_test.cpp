#include "larmor/train/time_left.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

/// Wall clock and steady clock that have nothing to do with each other.
class TwoHands final : public Clock {
 public:
  TwoHands(double wall, double steady) : wall_(wall), steady_(steady) {}
  double wall_seconds() const override { return wall_; }
  double steady_seconds() const override { return steady_; }
  void sleep(double seconds) override { steady_ += seconds; }
  void set_wall(double seconds) { wall_ = seconds; }

 private:
  double wall_, steady_;
};

constexpr double noon = 1'800'000'000;

TEST(TimeLeft, LeavesTimeForTwoStepsAValidationASaveAndAMargin) {
  const TwoHands clock(noon, 100);
  const TimeLeft left({}, /*job_ends_at=*/noon + 1000, {}, clock);  // at 1100 steady seconds
  struct Row {
    double now, step, save, validation;
    bool stop;
  };
  const Row rows[] = {{100, 1, 10, 0, false},   {1082, 1, 10, 0, false}, {1084, 1, 10, 0, true},
                      {1042, 1, 10, 40, false}, {1044, 1, 10, 40, true}, {684, 200, 10, 0, false},
                      {686, 200, 10, 0, true},  {492, 1, 600, 0, false}, {494, 1, 600, 0, true},
                      {1100, 0, 0, 0, true},    {2000, 0.1, 0, 0, true}, {1094, 0, 0, 0, false}};
  for (const Row& row : rows)
    EXPECT_EQ(left.must_stop(row.now, row.step, row.save, row.validation), row.stop) << row.now << " s";
  EXPECT_EQ(left.words(), "stopped before the end of the job at 2027-01-15T08:16:40Z");
}

TEST(TimeLeft, HasNoEndWhereNobodyGaveOne) {
  const TwoHands clock(noon, 100);
  for (const TimeLeft& left : {TimeLeft(), TimeLeft({}, {}, {}, clock),
                               TimeLeft(parse_stop_before("never"), noon + 10, {}, clock)}) {
    EXPECT_FALSE(left.must_stop(1e9, 100, 100, 100));
    EXPECT_EQ(left.words(), "");
  }
}

TEST(TimeLeft, OfAMomentOrALengthEndsBeforeTheJobWhereThatIsEarlier) {
  const TwoHands clock(noon, 0);
  const TimeLeft moment(parse_stop_before("2027-01-15T08:10:00Z"), noon + 1000, {}, clock);
  EXPECT_FALSE(moment.must_stop(594, 0, 0, 0));
  EXPECT_TRUE(moment.must_stop(596, 0, 0, 0));
  EXPECT_EQ(moment.words(), "stopped before 2027-01-15T08:10:00Z");
  const TimeLeft length(parse_stop_before("5min"), noon + 1000, {}, clock);
  EXPECT_FALSE(length.must_stop(294, 0, 0, 0));
  EXPECT_TRUE(length.must_stop(296, 0, 0, 0));
  const TimeLeft later(parse_stop_before("5h"), noon + 1000, {}, clock);
  EXPECT_TRUE(later.must_stop(996, 0, 0, 0));
  EXPECT_THAT(later.words(), HasSubstr("the end of the job"));
}

TEST(TimeLeft, OfALengthCountsFromTheStartOfTheWholeRunWhereThatIsKnown) {
  const TwoHands clock(noon, 0);
  const TimeLeft left(parse_stop_before("5min"), {}, /*started_at=*/noon - 200, clock);
  EXPECT_FALSE(left.must_stop(94, 0, 0, 0));
  EXPECT_TRUE(left.must_stop(96, 0, 0, 0));
}

TEST(TimeLeft, DoesNotMindAWallClockThatIsSet) {
  TwoHands clock(noon, 0);
  const TimeLeft left({}, noon + 1000, {}, clock);
  clock.set_wall(noon + 7200);
  EXPECT_FALSE(left.must_stop(clock.steady_seconds(), 1, 10, 0));
}

TEST(TimeLeft, AllowsForASaveByWhatSavesHaveTaken) {
  constexpr int64_t gigabyte = 1'000'000'000;
  EXPECT_EQ(seconds_to_save(0, 0), 10);
  EXPECT_EQ(seconds_to_save(0, 10 * gigabyte), 200);
  EXPECT_EQ(seconds_to_save(2, 10 * gigabyte), 10);
  EXPECT_EQ(seconds_to_save(60, 0), 90);
}

TEST(TimeLeft, RefusesAMomentThatIsOver) {
  const TwoHands clock(noon, 0);
  refuse_past_stop("auto", clock);
  refuse_past_stop("never", clock);
  refuse_past_stop("1s", clock);
  refuse_past_stop("2027-01-15T08:00:01Z", clock);
  try {
    refuse_past_stop("2027-01-15T07:59:59Z", clock);
    ADD_FAILURE() << "it was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), HasSubstr("2027-01-15T07:59:59Z"));
  }
}

}  // namespace
}  // namespace larmor
