#include "larmor/nn/diffusion/sampler.h"

#include <cmath>
#include <functional>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

using testing::Golden;
using testing::largest_difference;
using testing::relative_l2;
using SamplerKind = SamplerOptions::Kind;
using Model = std::function<at::Tensor(const at::Tensor& x, double time)>;

/// What the references' chains ask in place of a network.
at::Tensor stand_in(const at::Tensor& x, double) { return 0.3 * x + 0.1 * at::sin(3 * x); }

SamplerOptions unclipped(SamplerKind kind) {
  SamplerOptions options;
  options.sampler = kind;
  options.clipping.clip_sample = false;
  return options;
}

/// x after each step, in one tensor; `noise` [steps, …] may be undefined where none is drawn.
at::Tensor run_chain(Sampler sampler, at::Tensor x, const Model& model, const at::Tensor& noise = {}) {
  std::vector<at::Tensor> all;
  for (int64_t i = 0; i < std::ssize(sampler.steps()); ++i) {
    const double time = sampler.steps()[static_cast<std::size_t>(i)].from;
    x = sampler.step(i, x, model(x, time), noise.defined() ? noise[i] : at::Tensor());
    all.push_back(x);
  }
  return at::stack(all);
}

struct PredictionName {
  const char* name;
  PredictionType type;
};
constexpr PredictionName monai_types[] = {{"epsilon", PredictionType::epsilon},
                                          {"sample", PredictionType::sample},
                                          {"v_prediction", PredictionType::v_prediction}};

/// One step of MONAI's scheduler from each stored time.
void expect_monai_steps(const Golden& golden, const std::string& prefix, const SamplerOptions& options,
                        double stride, const std::string& suffix) {
  const at::Tensor x = golden.at("input/sample"), output = golden.at("input/model_output");
  for (const auto& [name, type] : monai_types) {
    for (const bool clip : {true, false}) {
      for (const int time : {0, 1, 500, 999}) {
        const std::string key =
            text(prefix, "/", name, clip ? "/clip" : "/noclip", suffix, "/t", time, "/prev_sample");
        if (!golden.has(key)) continue;
        SamplerOptions here = options;
        here.clipping.clip_sample = clip;
        const SamplingStep step{.from = static_cast<double>(time), .to = time - stride};
        Sampler sampler(NoiseSchedule(NoiseScheduleOptions{}), type, here, {step});
        const at::Tensor result = sampler.step(0, x, output, golden.at("input/noise"));
        EXPECT_EQ(result.scalar_type(), at::kFloat);
        EXPECT_LE(relative_l2(result, golden.at(key)), 1e-5) << key;
      }
    }
  }
}

TEST(SamplerGolden, TakesMonaisDdpmSteps) {
  const auto golden = Golden::shared("schedulers");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  expect_monai_steps(*golden, "ddpm", {.sampler = SamplerKind::ddpm}, 1, "");
}

TEST(SamplerGolden, TakesMonaisDdimSteps) {
  const auto golden = Golden::shared("schedulers");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  expect_monai_steps(*golden, "ddim50", {.sampler = SamplerKind::ddim}, 20, "/eta0.0");
  expect_monai_steps(*golden, "ddim50", {.sampler = SamplerKind::ddim, .eta = 0.5}, 20, "/eta0.5");
}

struct DiffusersChain {
  SamplerKind kind;
  const char* name;  // in the golden file
  TimestepSpacing spacing;
  const char* spacing_name;
  int64_t steps, offset = 0;

  std::string tag() const { return text(spacing_name, steps, offset > 0 ? "_offset1" : ""); }
  SamplerOptions options() const {
    SamplerOptions options = unclipped(kind);
    options.num_inference_steps = steps;
    options.timestep_spacing = spacing;
    options.steps_offset = offset;
    return options;
  }
};

std::vector<DiffusersChain> diffusers_chains(SamplerKind kind, const char* name) {
  using Spacing = TimestepSpacing;
  std::vector<DiffusersChain> all;
  for (const int64_t steps : {7, 10}) {
    all.push_back({kind, name, Spacing::leading, "leading", steps});
    all.push_back({kind, name, Spacing::leading, "leading", steps, 1});
    all.push_back({kind, name, Spacing::linspace, "linspace", steps});
    all.push_back({kind, name, Spacing::trailing, "trailing", steps});
  }
  return all;
}

at::Tensor chain_input(const Golden& golden) { return golden.at("sampling/input/x_T").to(at::kDouble); }

TEST(SamplerGolden, EqualsDiffusersDdpmOverAllSpacings) {
  const auto golden = Golden::shared("schedules2");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  const at::Tensor noise = golden->at("sampling/input/noise").to(at::kDouble);
  for (const auto& chain : diffusers_chains(SamplerKind::ddpm, "ddpm")) {
    const Sampler sampler(NoiseSchedule(NoiseScheduleOptions{}), PredictionType::epsilon, chain.options());
    EXPECT_LE(relative_l2(run_chain(sampler, chain_input(*golden), stand_in, noise),
                          golden->at("sampling/ddpm/" + chain.tag() + "/x_after_each_step")),
              1e-9)
        << chain.tag();
  }
}

TEST(SamplerGolden, EqualsDiffusersDpmSolverOverAllSpacings) {
  const auto golden = Golden::shared("schedules2");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  for (const auto& chain : diffusers_chains(SamplerKind::dpm_solver_multistep, "dpmpp2m")) {
    const Sampler sampler(NoiseSchedule(NoiseScheduleOptions{}), PredictionType::epsilon, chain.options());
    EXPECT_LE(relative_l2(run_chain(sampler, chain_input(*golden), stand_in),
                          golden->at("sampling/dpmpp2m/" + chain.tag() + "/x_after_each_step")),
              1e-9)
        << chain.tag();
  }
}

/// diffusers and MONAI step DDIM by T / n whatever the spacing, so that with linspace they arrive beside
/// their next time.
std::vector<SamplingStep> strided(const std::vector<double>& times, int64_t steps, double last) {
  std::vector<SamplingStep> all;
  for (const double time : times) {
    const double to = time - static_cast<double>(1000 / steps);
    all.push_back({.from = time, .to = to < 0 ? last : to});
  }
  return all;
}

TEST(SamplerGolden, EqualsMonaisWholeChainOverItsOwnSteps) {
  // MONAI 1.6 has the times of linspace, and steps by T / n all the same.
  const auto golden = Golden::shared("schedulers");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  SamplerOptions options = unclipped(SamplerKind::ddim);
  options.num_inference_steps = 10;
  options.timestep_spacing = TimestepSpacing::linspace;
  const NoiseSchedule schedule{NoiseScheduleOptions{}};
  const Sampler sampler(schedule, PredictionType::epsilon, options,
                        strided(options.timesteps(schedule), 10, clean_time));
  const at::Tensor chain = run_chain(sampler, golden->at("input/sample"), stand_in);
  for (int64_t i = 0; i < 10; ++i)
    EXPECT_LE(relative_l2(chain[i], golden->at(text("ddim10_sampling/after_", i))), 1e-5) << i;
}

TEST(SamplerGolden, EqualsDiffusersDdimOverItsOwnSteps) {
  const auto golden = Golden::shared("schedules2");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  const NoiseSchedule schedule{NoiseScheduleOptions{}};
  for (const auto& chain : diffusers_chains(SamplerKind::ddim, "ddim")) {
    const auto times = chain.options().timesteps(schedule);
    const auto expect_equal_chain = [&](const char* name, double last) {
      const std::string key = text("sampling/", name, "/", chain.tag(), "/x_after_each_step");
      if (!golden->has(key)) return;
      const Sampler sampler(schedule, PredictionType::epsilon, chain.options(),
                            strided(times, chain.steps, last));
      EXPECT_LE(relative_l2(run_chain(sampler, chain_input(*golden), stand_in), golden->at(key)), 1e-9)
          << key;
    };
    expect_equal_chain("ddim", clean_time);
    expect_equal_chain("ddim_last_alpha_is_first_of_schedule", 0);
  }
}

TEST(SamplerGolden, EqualsDiffusersDdimWhereItsNextTimeIsTheNextOfTheList) {
  const auto golden = Golden::shared("schedules2");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  for (const auto& chain : diffusers_chains(SamplerKind::ddim, "ddim")) {
    if (chain.spacing != TimestepSpacing::leading && chain.tag() != "trailing10") continue;
    const Sampler sampler(NoiseSchedule(NoiseScheduleOptions{}), PredictionType::epsilon, chain.options());
    EXPECT_LE(relative_l2(run_chain(sampler, chain_input(*golden), stand_in),
                          golden->at("sampling/ddim/" + chain.tag() + "/x_after_each_step")),
              1e-9)
        << chain.tag();
  }
}

TEST(SamplerGolden, EqualsDiffusersEulerInItsScale) {
  // diffusers steps x / signal, and takes what it is given for that of the first time.
  const auto golden = Golden::shared("schedules2");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  const NoiseSchedule schedule{NoiseScheduleOptions{}};
  for (const auto& chain : diffusers_chains(SamplerKind::euler, "euler")) {
    const std::string key = "sampling/euler/" + chain.tag() + "/x_after_each_step";
    if (!golden->has(key)) continue;
    const Sampler sampler(schedule, PredictionType::epsilon, chain.options());
    const double first = schedule.level(sampler.steps().front().from).signal;
    const at::Tensor ours = run_chain(sampler, chain_input(*golden) * first, stand_in);
    for (int64_t i = 0; i < chain.steps; ++i) {
      const double signal = schedule.level(sampler.steps()[static_cast<std::size_t>(i)].to).signal;
      EXPECT_LE(relative_l2(ours[i] / signal, golden->at(key)[i]), 1e-9) << key << " " << i;
    }
  }
}

TEST(SamplerGolden, EqualsBothSamplersOfFastDdpm) {
  const auto golden = Golden::shared("fast_ddpm3d_samplers");
  if (!golden) GTEST_SKIP() << "no shared/golden on this machine";
  const NoiseSchedule schedule(
      {.schedule = NoiseScheduleOptions::Kind::linear, .beta_start = 1e-4, .beta_end = 0.02});
  const Model model = [&](const at::Tensor& x, double time) {
    return schedule.level(time).noise * x + 0.1 * at::sin(3 * x);
  };
  const at::Tensor x = golden->at("input/x_T").to(at::kDouble);
  const at::Tensor noise = golden->at("input/noise").to(at::kDouble);
  const auto expect_chain = [&](const std::string& key, FastDdpmTimesteps list, int64_t steps,
                                const SamplerOptions& options, const at::Tensor& drawn) {
    const Sampler sampler(schedule, PredictionType::epsilon, options,
                          sampling_steps(descending(fast_ddpm_timesteps(list, steps, 1000))));
    EXPECT_LE(relative_l2(run_chain(sampler, x, model, drawn), golden->at(key + "/x_after_each_step")), 1e-9)
        << key;
  };
  struct List {
    const char* name;
    FastDdpmTimesteps kind;
    int64_t steps;
  };
  const SamplerOptions noisy = fast_ddpm_sampler(FastDdpmSampler::ddpm_noisy);
  for (const List& list : {List{"mirth_uniform10", FastDdpmTimesteps::uniform, 10},
                           List{"uniform10", FastDdpmTimesteps::uniform_from_zero, 10},
                           List{"non_uniform10", FastDdpmTimesteps::non_uniform, 10}}) {
    const std::string name = list.name;
    expect_chain(name + "/generalized", list.kind, list.steps,
                 fast_ddpm_sampler(FastDdpmSampler::generalized), {});
    expect_chain(name + "/generalized_eta", list.kind, list.steps,
                 fast_ddpm_sampler(FastDdpmSampler::generalized, 0.5), noise);
    expect_chain(name + "/ddpm_without_noise", list.kind, list.steps, noisy, at::zeros_like(noise));
    expect_chain(name + "/ddpm_noisy", list.kind, list.steps, noisy, noise);
  }
}

TEST(Sampler, FollowsAStraightPathToItsImageInAnyNumberOfSteps) {
  const at::Tensor x0 = testing::rule_input("x0", {2, 1, 3, 3}, -1, 1),
                   epsilon = testing::rule_input("epsilon", {2, 1, 3, 3}, -2, 2);
  const NoiseSchedule schedule({.schedule = NoiseScheduleOptions::Kind::rectified_flow});
  for (const SamplerKind kind : {SamplerKind::euler, SamplerKind::dpm_solver_multistep}) {
    for (const int64_t steps : {1, 3, 10}) {
      SamplerOptions options = unclipped(kind);
      options.num_inference_steps = steps;
      const Sampler sampler(schedule, PredictionType::flow, options);
      const at::Tensor chain =
          run_chain(sampler, epsilon, [&](const at::Tensor&, double) { return epsilon - x0; });
      EXPECT_LE(largest_difference(chain[steps - 1], x0), 1e-12);
    }
  }
}

TEST(Sampler, TakesEulersStepAlongAFlow) {
  // x(u') = x(u) + (u' - u) * direction, with u the share of the way.
  const at::Tensor x = testing::rule_input("x", {2, 5}, -2, 2);
  SamplerOptions options = unclipped(SamplerKind::euler);
  options.num_inference_steps = 8;
  Sampler sampler(NoiseSchedule({.schedule = NoiseScheduleOptions::Kind::rectified_flow}),
                  PredictionType::flow, options);
  EXPECT_LE(largest_difference(sampler.step(2, x, stand_in(x, 0)), x - stand_in(x, 0) / 8), 1e-12);
}

TEST(Sampler, ShrinksAGaussianOfVarianceOneByTheCosinesOfItsSteps) {
  // The best x0 is signal * x, the best epsilon noise * x: each step of DDIM multiplies x by
  // signal signal' + noise noise', whatever the spacing.
  const NoiseSchedule schedule{NoiseScheduleOptions{}};
  const at::Tensor x = testing::rule_input("x", {1, 20}, -2, 2);
  for (const TimestepSpacing spacing :
       {TimestepSpacing::leading, TimestepSpacing::linspace, TimestepSpacing::trailing}) {
    SamplerOptions options = unclipped(SamplerKind::ddim);
    options.num_inference_steps = 25;
    options.timestep_spacing = spacing;
    const Sampler sampler(schedule, PredictionType::epsilon, options);
    double factor = 1;
    for (const SamplingStep& step : sampler.steps()) {
      const NoiseLevel from = schedule.level(step.from), to = schedule.level(step.to);
      factor *= from.signal * to.signal + from.noise * to.noise;
    }
    const at::Tensor chain = run_chain(
        sampler, x, [&](const at::Tensor& here, double time) { return schedule.level(time).noise * here; });
    EXPECT_LE(relative_l2(chain[24], factor * x), 1e-12);
  }
}

TEST(Sampler, ClipsTheImageThatItSteersTo) {
  const NoiseSchedule schedule{NoiseScheduleOptions{}};
  const at::Tensor x = testing::rule_input("x", {2, 30}, -3, 3);
  for (const SamplerKind kind :
       {SamplerKind::ddpm, SamplerKind::ddim, SamplerKind::dpm_solver_multistep, SamplerKind::euler}) {
    SamplerOptions options;
    options.sampler = kind;
    Sampler sampler(schedule, PredictionType::sample, options, {{.from = 99, .to = clean_time}});
    EXPECT_LE(largest_difference(sampler.step(0, x, x), x.clamp(-1, 1)), 1e-12);
  }
}

TEST(Sampler, DrawsNoNoiseForTheLastStepNorWhereNothingIsRandom) {
  SamplerOptions options;
  options.num_inference_steps = 3;
  const auto draws = [&](SamplerKind kind, double eta) {
    options.sampler = kind;
    options.eta = eta;
    const Sampler sampler(NoiseSchedule(NoiseScheduleOptions{}), PredictionType::epsilon, options);
    return std::vector<bool>{sampler.draws_noise(0), sampler.draws_noise(1), sampler.draws_noise(2)};
  };
  EXPECT_EQ(draws(SamplerKind::ddpm, 0), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(draws(SamplerKind::ddim, 0.3), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(draws(SamplerKind::ddim, 0), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(draws(SamplerKind::dpm_solver_multistep, 0), (std::vector<bool>{false, false, false}));
}

TEST(Sampler, RefusesAFlowForDdpmAndTooManySteps) {
  const NoiseSchedule flow({.schedule = NoiseScheduleOptions::Kind::rectified_flow}),
      table(NoiseScheduleOptions{.num_train_timesteps = 20});
  EXPECT_THROW(Sampler(flow, PredictionType::flow, {.sampler = SamplerKind::ddpm}), Error);
  EXPECT_THROW(Sampler(flow, PredictionType::flow, {.sampler = SamplerKind::ddim}), Error);
  EXPECT_NO_THROW(Sampler(flow, PredictionType::flow, {.sampler = SamplerKind::euler}));
  EXPECT_THROW(Sampler(flow, PredictionType::epsilon, {.sampler = SamplerKind::euler}), Error);
  for (const SamplerKind kind :
       {SamplerKind::ddpm, SamplerKind::ddim, SamplerKind::dpm_solver_multistep, SamplerKind::euler})
    EXPECT_THROW(Sampler(table, PredictionType::epsilon, {.sampler = kind, .num_inference_steps = 21}),
                 Error);
}

// diffusers gives noise back after one step of these.
TEST(Sampler, RefusesToBeginWhereTheImageIsStrongerThanTheNoise) {
  const NoiseSchedule table({});
  const auto begin = [&](SamplerKind kind, TimestepSpacing spacing, int64_t steps, int64_t offset = 0) {
    const SamplerOptions options{
        .sampler = kind, .num_inference_steps = steps, .timestep_spacing = spacing, .steps_offset = offset};
    options.check(table);
  };
  for (const SamplerKind kind : {SamplerKind::ddpm, SamplerKind::ddim, SamplerKind::euler}) {
    EXPECT_THROW(begin(kind, TimestepSpacing::leading, 1), Error);
    EXPECT_THROW(begin(kind, TimestepSpacing::leading, 1, 10), Error);
    EXPECT_THROW(begin(kind, TimestepSpacing::linspace, 1), Error);
    EXPECT_NO_THROW(begin(kind, TimestepSpacing::trailing, 1));
    EXPECT_NO_THROW(begin(kind, TimestepSpacing::leading, 1, 999));
    EXPECT_NO_THROW(begin(kind, TimestepSpacing::leading, 2));
    EXPECT_NO_THROW(begin(kind, TimestepSpacing::linspace, 2));
  }
  // DPM-Solver++ leaves out a point of its own, so that one step begins in the middle or at the end.
  EXPECT_NO_THROW(begin(SamplerKind::dpm_solver_multistep, TimestepSpacing::leading, 1));
  EXPECT_NO_THROW(begin(SamplerKind::dpm_solver_multistep, TimestepSpacing::linspace, 1));
}

}  // namespace
}  // namespace larmor::nn
