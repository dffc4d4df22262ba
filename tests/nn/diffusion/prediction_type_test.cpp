#include "larmor/nn/diffusion/prediction_type.h"

#include <array>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

using testing::Golden;
using testing::largest_difference;
using testing::relative_l2;
using Type = PredictionType;

constexpr std::array all_types = {Type::epsilon, Type::sample, Type::v_prediction, Type::flow};

const std::vector<std::pair<std::string, NoiseScheduleOptions>>& golden_schedules() {
  using ScheduleKind = NoiseScheduleOptions::Kind;
  static const std::vector<std::pair<std::string, NoiseScheduleOptions>> all = {
      {"linear", {.schedule = ScheduleKind::linear, .beta_start = 1e-4, .beta_end = 0.02}},
      {"scaled_linear_0.0015_0.0195", {}},
      {"cosine_nichol_dhariwal", {.schedule = ScheduleKind::cosine}},
      {"cosine_clamped_hybrid_vit", {.schedule = ScheduleKind::cosine_clamped}}};
  return all;
}

TEST(PredictionTypeGolden, EqualsTheFormulasOfV) {
  const auto golden = Golden::shared("schedules2");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  const auto input = [&](const char* name) { return golden->at(name).to(at::kDouble); };
  const at::Tensor x0 = input("input/x0"), noise = input("input/noise"), output = input("input/model_output");
  for (const auto& [name, options] : golden_schedules()) {
    const NoiseSchedule schedule(options);
    const NoiseLevels levels = schedule.levels(golden->at("input/t"), x0);
    const at::Tensor x_t = schedule.add_noise(x0, noise, golden->at("input/t"));
    EXPECT_LE(relative_l2(x_t, golden->at("x_t/" + name)), 1e-12) << name;
    EXPECT_LE(relative_l2(target(Type::v_prediction, {x0, noise}, levels), golden->at("v_target/" + name)),
              1e-12)
        << name;
    const Denoised found = denoised(Type::v_prediction, x_t, output, levels);
    EXPECT_LE(relative_l2(found.x0, golden->at("x0_from_v/" + name)), 1e-12) << name;
    EXPECT_LE(relative_l2(found.epsilon, golden->at("eps_from_v/" + name)), 1e-12) << name;
  }
}

TEST(PredictionTypeGolden, EqualsMonaisVelocity) {
  const auto golden = Golden::shared("schedulers");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  const at::Tensor x0 = golden->at("input/x0"), noise = golden->at("input/model_output");
  const NoiseLevels levels = NoiseSchedule(NoiseScheduleOptions{}).levels(golden->at("input/t"), x0);
  EXPECT_LE(relative_l2(target(Type::v_prediction, {x0, noise}, levels), golden->at("velocity")), 1e-6);
}

TEST(PredictionTypeGolden, WeighsErrorsByMinSnr) {
  const auto golden = Golden::shared("schedules2");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  for (const auto& [name, options] : golden_schedules()) {
    const NoiseLevels levels =
        NoiseSchedule(options).levels(at::arange(1000), at::zeros({1000}, at::kDouble));
    const std::string key = "min_snr5/" + name;
    EXPECT_LE(relative_l2(min_snr_weights(Type::epsilon, levels, 5), golden->at(key + "/epsilon")), 1e-10);
    EXPECT_LE(relative_l2(min_snr_weights(Type::sample, levels, 5), golden->at(key + "/sample")), 1e-10);
    EXPECT_LE(relative_l2(min_snr_weights(Type::v_prediction, levels, 5), golden->at(key + "/v_prediction")),
              1e-10);
  }
}

struct Rows {
  at::Tensor x0 = testing::rule_input("x0", {3, 2, 4}, -1, 1);
  at::Tensor epsilon = testing::rule_input("epsilon", {3, 2, 4}, -2, 2);
  at::Tensor times = at::tensor({10.0, 400.0, 990.0}, at::kDouble);
};

/// Of a table, and of a straight path.
std::vector<NoiseSchedule> both_paths() {
  return {NoiseSchedule(NoiseScheduleOptions{}),
          NoiseSchedule({.schedule = NoiseScheduleOptions::Kind::rectified_flow})};
}

TEST(PredictionType, GivesBackImageAndNoiseFromItsOwnTarget) {
  const Rows rows;
  for (const NoiseSchedule& schedule : both_paths()) {
    const NoiseLevels levels = schedule.levels(rows.times, rows.x0);
    const at::Tensor x_t = schedule.add_noise(rows.x0, rows.epsilon, rows.times);
    for (const Type type : all_types) {
      const at::Tensor output = target(type, {rows.x0, rows.epsilon}, levels);
      const Denoised found = denoised(type, x_t, output, levels);
      EXPECT_LE(largest_difference(found.x0, rows.x0), 1e-11);
      EXPECT_LE(largest_difference(found.epsilon, rows.epsilon), 1e-11);
    }
  }
}

TEST(PredictionType, ConvertsEachTypeIntoEachOther) {
  const Rows rows;
  for (const NoiseSchedule& schedule : both_paths()) {
    const NoiseLevels levels = schedule.levels(rows.times, rows.x0);
    const at::Tensor x_t = schedule.add_noise(rows.x0, rows.epsilon, rows.times);
    for (const Type from : all_types) {
      for (const Type to : all_types) {
        const at::Tensor output = target(from, {rows.x0, rows.epsilon}, levels);
        EXPECT_LE(largest_difference(converted(output, from, to, x_t, levels),
                                     target(to, {rows.x0, rows.epsilon}, levels)),
                  1e-11);
      }
    }
  }
}

TEST(PredictionType, TakesOneLevelForAllRows) {
  const Rows rows;
  const NoiseSchedule schedule(NoiseScheduleOptions{});
  const at::Tensor times = at::full({3}, 400.0, at::kDouble);
  for (const Type type : all_types) {
    const Denoised single = denoised(type, rows.epsilon, rows.x0, schedule.level(400));
    const Denoised each = denoised(type, rows.epsilon, rows.x0, schedule.levels(times, rows.x0));
    EXPECT_LE(largest_difference(single.x0, each.x0), 1e-12);
    EXPECT_LE(largest_difference(single.epsilon, each.epsilon), 1e-12);
  }
}

TEST(PredictionType, PointsFromImageToNoiseForFlow) {
  const Rows rows;
  const NoiseSchedule schedule = both_paths().back();
  const at::Tensor direction =
      target(Type::flow, {rows.x0, rows.epsilon}, schedule.levels(rows.times, rows.x0));
  EXPECT_TRUE(at::equal(direction, rows.epsilon - rows.x0));
  // Along a straight path its derivative is the same everywhere.
  const at::Tensor later = rows.times + 1;
  const at::Tensor difference = (schedule.add_noise(rows.x0, rows.epsilon, later) -
                                 schedule.add_noise(rows.x0, rows.epsilon, rows.times)) *
                                1000;
  EXPECT_LE(largest_difference(difference, direction), 1e-10);
}

TEST(PredictionType, WeighsTheErrorOfTheImageAlikeWhateverIsPredicted) {
  // The same error of x0, seen in each type's output, counts min(snr, gamma) times its square.
  const Rows rows;
  for (const NoiseSchedule& schedule : both_paths()) {
    const NoiseLevels levels = schedule.levels(rows.times, rows.x0);
    const at::Tensor x_t = schedule.add_noise(rows.x0, rows.epsilon, rows.times);
    const at::Tensor wrong = rows.x0 + 0.1;
    const at::Tensor expected = at::square(levels.signal / levels.noise).clamp_max(5) * 0.01;
    for (const Type type : all_types) {
      const at::Tensor error =
          converted(wrong, Type::sample, type, x_t, levels) - target(type, {rows.x0, rows.epsilon}, levels);
      EXPECT_LE(relative_l2(min_snr_weights(type, levels, 5) * at::square(error),
                            expected.expand_as(error).contiguous()),
                1e-9);
    }
  }
}

TEST(Preconditioned, WithoutAnOutputIsTheMeanOfWhatAGaussianAroundTheGuessLeavesOpen) {
  const Rows rows;
  const NoiseSchedule schedule = both_paths().front();
  const NoiseLevels levels = schedule.levels(rows.times, rows.x0);
  const at::Tensor guess = rows.x0 + 0.3, x_t = schedule.add_noise(rows.x0, rows.epsilon, rows.times);
  constexpr double spread = 0.4;
  // Two measurements of x0 by their precisions: the guess, and x_t / signal.
  const at::Tensor of_guess = at::full_like(levels.signal, 1 / (spread * spread)),
                   of_noisy = at::square(levels.signal / levels.noise);
  const at::Tensor mean = (of_guess * guess + of_noisy * (x_t / levels.signal)) / (of_guess + of_noisy);
  const at::Tensor none = at::zeros_like(x_t);
  EXPECT_LE(largest_difference(preconditioned(none, guess, x_t, levels, spread), mean), 1e-10);
  // An output of one is a standard deviation of what is left.
  const at::Tensor apart = preconditioned(none + 1, guess, x_t, levels, spread) - mean;
  EXPECT_LE(largest_difference(apart, (1 / at::sqrt(of_guess + of_noisy)).expand_as(apart)), 1e-10);
}

TEST(Preconditioned, TakesAnImageWithoutNoiseAsItIs) {
  const Rows rows;
  const NoiseLevels clean{.signal = at::ones_like(rows.x0), .noise = at::zeros_like(rows.x0)};
  EXPECT_TRUE(at::allclose(preconditioned(rows.epsilon, rows.epsilon, rows.x0, clean, 0.35), rows.x0));
}

TEST(PredictionType, EpsilonOnAStraightPathIsRefused) {
  EXPECT_THROW(check(Type::epsilon, both_paths().back()), Error);
  EXPECT_NO_THROW(check(Type::epsilon, both_paths().front()));
  for (const Type type : {Type::sample, Type::v_prediction, Type::flow})
    EXPECT_NO_THROW(check(type, both_paths().back()));
}

}  // namespace
}  // namespace larmor::nn
