#include "larmor/run/timetable.h"

#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor::testing {
namespace {

Timetable of_length(Length length, int64_t epoch_examples, int64_t global_batch) {
  TrainConfig train;
  train.length = length;
  return Timetable(train, epoch_examples, global_batch);
}

Progress after_steps(int64_t steps, int64_t global_batch) {
  return {.step = steps, .examples = steps * global_batch, .elapsed_seconds = 0};
}

TEST(Timetable, CallsAnEpochOverAtTheFirstStepThatHasSeenEveryExample) {
  const auto table = of_length({10, Length::Unit::epochs}, 10, 4);
  const Length each{1, Length::Unit::epochs};
  std::vector<int64_t> due;
  for (int64_t step = 1; step <= 10; ++step) {
    if (table.due(each, after_steps(step - 1, 4), after_steps(step, 4))) due.push_back(step);
  }
  EXPECT_EQ(due, (std::vector<int64_t>{3, 5, 8, 10}));
}

TEST(Timetable, RoundsALengthInEpochsUpToWholeSteps) {
  EXPECT_EQ(of_length({3, Length::Unit::epochs}, 10, 4).total_steps(), 8);
  EXPECT_EQ(of_length({7, Length::Unit::steps}, 10, 4).total_steps(), 7);
  EXPECT_EQ(of_length({60, Length::Unit::seconds}, 10, 4).total_steps(), 0);
}

TEST(Timetable, NeverCallsAZeroIntervalDue) {
  const auto table = of_length({10, Length::Unit::steps}, 10, 4);
  EXPECT_FALSE(table.due({}, after_steps(0, 4), after_steps(9, 4)));
}

TEST(Timetable, EndsATimedRunByItsSeconds) {
  const auto table = of_length({60, Length::Unit::seconds}, 10, 4);
  EXPECT_FALSE(table.finished({.step = 1000, .examples = 4000, .elapsed_seconds = 59.9}));
  EXPECT_TRUE(table.finished({.step = 1, .examples = 4, .elapsed_seconds = 60}));
}

TEST(Timetable, TakesTheScheduleFromTheRunOrFromItsOwnSteps) {
  const auto table = of_length({10, Length::Unit::epochs}, 10, 4);
  ScheduleConfig schedule;
  schedule.warmup = {2, Length::Unit::epochs};
  EXPECT_EQ(table.schedule_steps(schedule).total, 25);
  EXPECT_EQ(table.schedule_steps(schedule).warmup, 5);
  schedule.steps = 100;
  EXPECT_EQ(table.schedule_steps(schedule).total, 100);
}

TEST(Timetable, TurnsMilestonesIntoSteps) {
  const auto table = of_length({60, Length::Unit::seconds}, 10, 4);
  ScheduleConfig schedule;
  schedule.name = "multistep";
  schedule.milestones = {"2ep", "40st"};
  EXPECT_EQ(table.schedule_steps(schedule).milestones, (std::vector<int64_t>{5, 40}));
}

TEST(Timetable, KnowsOfATimedRunTheShareThatIsOverInPlaceOfItsSteps) {
  const auto timed = of_length({60, Length::Unit::seconds}, 10, 4);
  ScheduleConfig schedule;
  schedule.name = "warmup_cosine";
  EXPECT_EQ(timed.schedule_steps(schedule).total, 0);
  EXPECT_DOUBLE_EQ(timed.share({.step = 7, .examples = 28, .elapsed_seconds = 15}), 0.25);
  const auto counted = of_length({10, Length::Unit::epochs}, 10, 4);
  EXPECT_EQ(counted.share({.step = 7, .examples = 28, .elapsed_seconds = 15}), 0);
}

}  // namespace
}  // namespace larmor::testing
