#include "larmor/nn/diffusion/noise_schedule.h"

#include <utility>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

using testing::Golden;
using testing::relative_l2;
using ScheduleKind = NoiseScheduleOptions::Kind;

NoiseSchedule tutorial_schedule() { return NoiseSchedule(NoiseScheduleOptions{}); }

NoiseSchedule flow_schedule() { return NoiseSchedule({.schedule = ScheduleKind::rectified_flow}); }

at::Tensor as_tensor(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

TEST(NoiseScheduleGolden, EqualsTheFormulasOfElevenSchedules) {
  const auto golden = Golden::shared("schedules2");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  const NoiseScheduleOptions wide{.schedule = ScheduleKind::linear, .beta_start = 1e-4, .beta_end = 0.02};
  const std::vector<std::pair<std::string, ScheduleKind>> names = {
      {"linear", ScheduleKind::linear},
      {"quad", ScheduleKind::quad},
      {"sigmoid", ScheduleKind::sigmoid},
      {"sigmoid_mirth_decreasing", ScheduleKind::sigmoid_decreasing},
      {"cosine_monai", ScheduleKind::cosine},
      {"cosine_nichol_dhariwal", ScheduleKind::cosine},
      {"alpha_cosine", ScheduleKind::cosine},
      {"cosine_clamped_hybrid_vit", ScheduleKind::cosine_clamped},
      {"alpha_sigmoid", ScheduleKind::alpha_sigmoid},
      {"alpha_linear", ScheduleKind::alpha_linear}};
  const auto expect_equal = [&](const NoiseScheduleOptions& options, const std::string& name) {
    const NoiseSchedule schedule(options);
    EXPECT_LE(relative_l2(as_tensor(schedule.betas()), golden->at("betas/" + name)), 1e-12) << name;
    EXPECT_LE(relative_l2(as_tensor(schedule.alphas_cumprod()), golden->at("alphas_cumprod/" + name)), 1e-12)
        << name;
  };
  for (const auto& [name, kind] : names) {
    NoiseScheduleOptions options = wide;
    options.schedule = kind;
    expect_equal(options, name);
  }
  expect_equal({}, "scaled_linear_0.0015_0.0195");
}

TEST(NoiseScheduleGolden, EqualsMonaisTablesAndForwardProcess) {
  const auto golden = Golden::shared("schedulers");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  const NoiseSchedule schedule = tutorial_schedule();
  EXPECT_LE(relative_l2(as_tensor(schedule.betas()), golden->at("betas")), 1e-6);
  EXPECT_LE(relative_l2(as_tensor(schedule.alphas_cumprod()), golden->at("alphas_cumprod")), 1e-6);
  const at::Tensor noisy =
      schedule.add_noise(golden->at("input/x0"), golden->at("input/model_output"), golden->at("input/t"));
  EXPECT_EQ(noisy.scalar_type(), at::kFloat);
  EXPECT_LE(relative_l2(noisy, golden->at("add_noise")), 1e-6);
}

TEST(NoiseSchedule, GivesTheCheckValues) {
  // Of the page of the source systems: MONAI's tutorial, and Fast-DDPM's linear schedule.
  const NoiseSchedule schedule = tutorial_schedule();
  EXPECT_NEAR(schedule.alpha_cumprod(0), 0.9985, 1e-14);
  EXPECT_NEAR(schedule.alpha_cumprod(1), 0.996994427069975, 1e-14);
  EXPECT_NEAR(schedule.alpha_cumprod(500), 0.11492200085532282, 1e-14);
  EXPECT_NEAR(schedule.alpha_cumprod(999), 1.4230397519201775e-4, 1e-16);
  EXPECT_EQ(schedule.alpha_cumprod(clean_time), 1);
  const NoiseSchedule linear({.schedule = ScheduleKind::linear, .beta_start = 1e-4, .beta_end = 0.02});
  EXPECT_NEAR(linear.alpha_cumprod(99), 0.8970181457, 1e-10);
  EXPECT_NEAR(linear.alpha_cumprod(999), 4.0358298e-5, 1e-11);
}

TEST(NoiseSchedule, KeepsTheVarianceOfATable) {
  const NoiseSchedule schedule = tutorial_schedule();
  for (const double time : {0.0, 1.0, 332.999, 333.5, 999.0}) {
    const NoiseLevel level = schedule.level(time);
    EXPECT_NEAR(level.signal * level.signal + level.noise * level.noise, 1, 1e-14) << time;
  }
}

TEST(NoiseSchedule, InterpolatesTheNoiseToSignalRatioBetweenTimeSteps) {
  const NoiseSchedule schedule = tutorial_schedule();
  const auto ratio = [&](double time) { return schedule.level(time).noise / schedule.level(time).signal; };
  EXPECT_NEAR(ratio(832.25), 0.75 * ratio(832) + 0.25 * ratio(833), 1e-12);
}

TEST(NoiseSchedule, IsAStraightLineForRectifiedFlow) {
  const NoiseSchedule schedule = flow_schedule();
  EXPECT_TRUE(schedule.is_straight());
  const NoiseLevel quarter = schedule.level(250), noise = schedule.level(1000),
                   image = schedule.level(clean_time);
  EXPECT_DOUBLE_EQ(quarter.signal, 0.75);
  EXPECT_DOUBLE_EQ(quarter.noise, 0.25);
  EXPECT_EQ(noise.signal, 0);
  EXPECT_EQ(noise.noise, 1);
  EXPECT_EQ(image.signal, 1);
  EXPECT_EQ(image.noise, 0);
  const at::Tensor x0 = at::full({2, 1, 3}, 4.0, at::kDouble),
                   epsilon = at::full({2, 1, 3}, -2.0, at::kDouble);
  const at::Tensor noisy = schedule.add_noise(x0, epsilon, at::tensor({250.0, 500.0}, at::kDouble));
  EXPECT_DOUBLE_EQ(noisy[0].max().item<double>(), 0.75 * 4 - 0.25 * 2);
  EXPECT_DOUBLE_EQ(noisy[1].max().item<double>(), 0.5 * 4 - 0.5 * 2);
}

TEST(NoiseSchedule, GivesEachRowItsOwnLevel) {
  const NoiseSchedule schedule = tutorial_schedule();
  const at::Tensor times = at::tensor({3, 740}, at::kLong);
  const NoiseLevels levels = schedule.levels(times, at::zeros({2, 3, 4, 4, 4}, at::kFloat));
  EXPECT_EQ(levels.signal.sizes(), (std::vector<int64_t>{2, 1, 1, 1, 1}));
  EXPECT_EQ(levels.noise.scalar_type(), at::kFloat);
  for (int64_t row = 0; row < 2; ++row) {
    const NoiseLevel level = schedule.level(times[row].item<double>());
    EXPECT_NEAR(levels.signal[row].item<double>(), level.signal, 1e-7);
    EXPECT_NEAR(levels.noise[row].item<double>(), level.noise, 1e-7);
  }
}

TEST(NoiseSchedule, RefusesBetasThatMakeNoSchedule) {
  EXPECT_THROW(NoiseSchedule({.beta_start = 0.02, .beta_end = 0.001}), Error);
  EXPECT_THROW(NoiseSchedule({.beta_start = 0, .beta_end = 0.02}), Error);
  EXPECT_THROW(NoiseSchedule({.beta_start = 0.01, .beta_end = 1}), Error);
  EXPECT_THROW(NoiseSchedule({.num_train_timesteps = 0}), Error);
  // A cosine does not look at them.
  EXPECT_NO_THROW(NoiseSchedule({.schedule = ScheduleKind::cosine, .beta_start = 0, .beta_end = 0}));
}

}  // namespace
}  // namespace larmor::nn
