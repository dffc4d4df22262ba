#include "larmor/track/progress.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const Values values = {{"train/loss", 0.12345},   {"train/kl", 2e-5},   {"optim/learning_rate", 1e-4},
                       {"optim/grad_norm", 0.87}, {"perf/step_ms", 80}, {"perf/samples_per_second", 100},
                       {"perf/data_wait", 0.03},  {"mem/peak_gib", 4.2}};

ProgressReport after(int64_t step, int64_t total) {
  ProgressReport report(total);
  report.add_step({step - 1, 0, 0}, values, 0);
  report.add_step({step, 1.5, step * 8}, values, 0.1);
  return report;
}

TEST(ProgressLine, SaysWhereTheRunStandsAndHowFastItGoes) {
  EXPECT_EQ(progress_line(after(120, 1000), 150),
            "step 120/1000 (12 %)  epoch 1.50  loss 0.1235  kl 2e-05  lr 0.0001  grad 0.87  100 examples/s  "
            "80 ms/step  data wait 3 %  4.20 GiB  ETA 1 min 28 s");
}

TEST(ProgressLine, DropsTheLeastImportantFirstWhenTheTerminalIsNarrow) {
  EXPECT_EQ(progress_line(after(120, 1000), 100),
            "step 120/1000 (12 %)  epoch 1.50  loss 0.1235  100 examples/s  data wait 3 %  ETA 1 min 28 s");
  EXPECT_EQ(progress_line(after(120, 1000), 70),
            "step 120/1000 (12 %)  loss 0.1235  100 examples/s  ETA 1 min 28 s");
  EXPECT_EQ(progress_line(after(120, 1000), 33), "step 120/1000 (12 %)  loss 0.1235");
  EXPECT_EQ(progress_line(after(120, 1000), 4), "step");
}

TEST(ProgressLine, NeverGetsLongerThanItMay) {
  for (int width = 1; width < 220; ++width) {
    EXPECT_LE(progress_line(after(120, 1000), width).size(), static_cast<size_t>(width));
  }
}

TEST(ProgressLine, BeginsWithABarWhereThereIsRoom) {
  EXPECT_THAT(progress_line(after(500, 1000), 250),
              StartsWith("[===============>              ] step 500/1000 (50 %)"));
  EXPECT_THAT(progress_line(after(1000, 1000), 250),
              StartsWith("[==============================] step 1000/1000"));
}

TEST(ProgressLine, ClaimsNoEndThatItDoesNotKnow) {
  const std::string line = progress_line(after(120, 0), 250);
  EXPECT_THAT(line, StartsWith("step 120  epoch 1.50"));
  EXPECT_THAT(line, Not(HasSubstr("ETA")));
}

TEST(ProgressLine, SaysAHundredPercentOnlyAtTheEnd) {
  EXPECT_THAT(progress_line(after(9999, 10000), 250), HasSubstr("(99 %)"));
  EXPECT_THAT(progress_line(after(10000, 10000), 250), HasSubstr("(100 %)"));
}

TEST(ProgressLine, ShowsLossesThatAreNoNumbers) {
  ProgressReport report(0);
  report.add_step({1, 0, 8},
                  {{"train/loss", std::nan("")}, {"train/kl", std::numeric_limits<double>::infinity()}}, 0);
  EXPECT_EQ(progress_line(report, 80), "step 1  epoch 0.00  loss nan  kl inf");
}

TEST(ProgressReport, KnowsHowMuchIsLeftOfARunWhoseLengthIsATime) {
  ProgressReport report(0, /*total_seconds=*/600);
  report.add_step({.step = 7, .elapsed_seconds = 150}, {}, 20);
  EXPECT_EQ(report.fraction(), 0.25);
  const auto fields = report.fields();
  EXPECT_EQ(fields.front().words, "step 7 (25 %)");
  EXPECT_EQ(fields.back().words, "ETA 7 min 30 s");
}

TEST(ProgressReport, CountsTheTimeBetweenStepsIntoWhatIsLeft) {
  ProgressReport report(100);
  report.add_step({50, 0, 0}, values, 1000);
  EXPECT_THAT(progress_line(report, 250), Not(HasSubstr("ETA")));
  report.add_step({51, 0, 0}, values, 1001);
  report.add_step({60, 0, 0}, values, 1100);  // a validation in between
  EXPECT_THAT(progress_line(report, 250), HasSubstr("ETA 6 min 40 s"));
}

TEST(ProgressReport, ForgetsTheSpeedOfLongAgo) {
  ProgressReport report(0);
  int64_t step = 0;
  const auto run = [&](double milliseconds, double rate, double wait, int steps) {
    for (int i = 0; i < steps; ++i) {
      report.add_step(
          {++step, 0, 0},
          {{"perf/step_ms", milliseconds}, {"perf/samples_per_second", rate}, {"perf/data_wait", wait}}, 0);
    }
  };
  run(5000, 1, 0.9, 4);
  run(100, 50, 0, 1);
  EXPECT_THAT(progress_line(report, 250), HasSubstr("data wait 89 %"));
  run(100, 50, 0, 1000);
  EXPECT_THAT(progress_line(report, 250), HasSubstr("50 examples/s  100 ms/step  data wait 0 %"));
}

TEST(ShortNumber, KeepsFourDigits) {
  EXPECT_EQ(short_number(0.123456), "0.1235");
  EXPECT_EQ(short_number(1234.56), "1235");
  EXPECT_EQ(short_number(1e-5), "1e-05");
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(-31.2), "-31.2");
}

}  // namespace
}  // namespace larmor
