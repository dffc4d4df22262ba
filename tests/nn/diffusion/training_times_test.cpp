#include "larmor/nn/diffusion/training_times.h"

#include <cmath>
#include <numeric>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/device/draw_position.h"

namespace larmor::nn {
namespace {

using TimesDistribution = TrainingTimesOptions::Distribution;

/// The examples from `first` on, at the positions of their numbers.
at::Tensor times_of(const NoiseSchedule& schedule, const TrainingTimesOptions& options, int64_t first,
                    int64_t count) {
  std::vector<int64_t> examples(static_cast<std::size_t>(count));
  std::iota(examples.begin(), examples.end(), first);
  const DrawScope draws({.seed = 7,
                         .epochs = std::vector<int64_t>(examples.size(), 0),
                         .examples = examples,
                         .positions = examples});
  return draw_training_times(schedule, options, at::empty({count}));
}

const NoiseSchedule& table_of_thousand() {
  static const NoiseSchedule schedule(NoiseScheduleOptions{});
  return schedule;
}

const NoiseSchedule& straight_path() {
  static const NoiseSchedule schedule({.schedule = NoiseScheduleOptions::Kind::rectified_flow});
  return schedule;
}

TEST(TrainingTimes, AreUniformOverTheTimeStepsOfATable) {
  const at::Tensor times = times_of(table_of_thousand(), {}, 0, 20000);
  EXPECT_EQ(times.scalar_type(), at::kLong);
  EXPECT_EQ(times.min().item<int64_t>(), 0);
  EXPECT_EQ(times.max().item<int64_t>(), 999);
  EXPECT_NEAR(times.to(at::kDouble).mean().item<double>(), 499.5, 8);
}

TEST(TrainingTimes, OfAPairLieOnBothSidesOfTheMiddle) {
  const at::Tensor times =
      times_of(table_of_thousand(), {.distribution = TimesDistribution::antithetic}, 0, 64).view({32, 2});
  EXPECT_TRUE(at::equal(times.sum(1), at::full({32}, 999, at::kLong)));
}

TEST(TrainingTimes, AreUniformAlongAStraightPath) {
  const at::Tensor times = times_of(straight_path(), {}, 0, 20000);
  EXPECT_GE(times.min().item<double>(), 0);
  EXPECT_LT(times.max().item<double>(), 1000);
  EXPECT_NEAR(times.mean().item<double>(), 500, 8);
  EXPECT_NEAR(times.std().item<double>(), 1000 / std::sqrt(12.0), 5);
}

TEST(TrainingTimes, AreNormalInTheLogitWhereAsked) {
  const TrainingTimesOptions options{
      .distribution = TimesDistribution::logit_normal, .logit_mean = 0.5, .logit_deviation = 0.8};
  const at::Tensor logits = at::logit(times_of(straight_path(), options, 0, 20000) / 1000);
  EXPECT_NEAR(logits.mean().item<double>(), 0.5, 0.02);
  EXPECT_NEAR(logits.std().item<double>(), 0.8, 0.02);
}

TEST(TrainingTimes, BelongToTheExampleHoweverABatchIsDivided) {
  for (const NoiseSchedule& schedule : {table_of_thousand(), straight_path()}) {
    const at::Tensor whole = times_of(schedule, {}, 0, 6);
    EXPECT_TRUE(at::equal(at::cat({times_of(schedule, {}, 0, 4), times_of(schedule, {}, 4, 2)}), whole));
  }
}

TEST(TrainingTimes, ThatDoNotGoWithTheScheduleAreRefused) {
  const TrainingTimesOptions logit_normal{.distribution = TimesDistribution::logit_normal},
      antithetic{.distribution = TimesDistribution::antithetic};
  EXPECT_THROW(logit_normal.check(table_of_thousand()), Error);
  EXPECT_THROW(antithetic.check(straight_path()), Error);
  EXPECT_NO_THROW(antithetic.check(table_of_thousand()));
  EXPECT_NO_THROW(logit_normal.check(straight_path()));
}

}  // namespace
}  // namespace larmor::nn
