#include "larmor/optim/schedule.h"

#include <cmath>

#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

TEST(LearningRate, StaysAtThePeakWhenConstant) {
  for (const int64_t step : {0, 5, 1000}) EXPECT_EQ(learning_rate({}, 3e-4, {10, 2}, step), 3e-4);
}

TEST(LearningRate, RisesThenFallsAlongACosine) {
  ScheduleConfig config;
  config.name = "warmup_cosine";
  config.start = 0.1;
  config.final_rate = 1e-6;
  const ScheduleSteps steps{.total = 105, .warmup = 4};
  const auto rate = [&](int64_t step) { return learning_rate(config, 1e-3, steps, step); };
  EXPECT_DOUBLE_EQ(rate(0), 1e-4);
  EXPECT_DOUBLE_EQ(rate(2), 5.5e-4);
  EXPECT_DOUBLE_EQ(rate(4), 1e-3);
  EXPECT_NEAR(rate(54), (1e-3 + 1e-6) / 2, 1e-12);
  EXPECT_NEAR(rate(29), 1e-6 + (1e-3 - 1e-6) * 0.5 * (1 + std::sqrt(0.5)), 1e-12);
  EXPECT_DOUBLE_EQ(rate(104), 1e-6);
  EXPECT_DOUBLE_EQ(rate(500), 1e-6);
  for (int64_t step = 5; step < 105; ++step) EXPECT_LT(rate(step), rate(step - 1)) << step;
}

TEST(LearningRate, StartsAtThePeakWithoutAWarmUp) {
  ScheduleConfig config;
  config.name = "warmup_cosine";
  EXPECT_EQ(learning_rate(config, 1.0, {10, 0}, 0), 1.0);
  EXPECT_EQ(learning_rate(config, 1.0, {10, 0}, 9), 0.0);
  EXPECT_EQ(learning_rate(config, 1.0, {1, 0}, 0), 1.0) << "the only step of a run has to learn";
}

TEST(LearningRate, RefusesANameThatItDoesNotKnow) {
  ScheduleConfig config;
  config.name = "staircase";
  EXPECT_THROW(learning_rate(config, 1.0, {10, 0}, 0), Error);
}

}  // namespace
}  // namespace larmor
