#include "larmor/nn/diffusion/sampler.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include <ATen/TensorOperators.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::nn {
namespace {

using SamplerKind = SamplerOptions::Kind;
using VarianceType = SamplerOptions::VarianceType;

const char* sampler_name(SamplerKind kind) {
  switch (kind) {
    case SamplerKind::ddpm:
      return "ddpm";
    case SamplerKind::ddim:
      return "ddim";
    case SamplerKind::dpm_solver_multistep:
      return "dpm_solver_multistep";
    case SamplerKind::euler:
      return "euler";
  }
  return "";
}

/// Half the logarithm of the signal-to-noise ratio, in which DPM-Solver++ measures its steps.
double half_log_snr(NoiseLevel level) { return std::log(level.signal) - std::log(level.noise); }

}  // namespace

void SamplerOptions::describe(Fields& f) {
  f.choice("sampler", sampler,
           {{"ddpm", SamplerKind::ddpm},
            {"ddim", SamplerKind::ddim},
            {"dpm_solver_multistep", SamplerKind::dpm_solver_multistep},
            {"euler", SamplerKind::euler}},
           "how noise becomes an image");
  f.field("num_inference_steps", num_inference_steps, "steps from noise to an image", at_least_one);
  f.choice("timestep_spacing", timestep_spacing,
           {{"leading", TimestepSpacing::leading},
            {"linspace", TimestepSpacing::linspace},
            {"trailing", TimestepSpacing::trailing}},
           "where they lie among the time steps of the schedule");
  f.field("steps_offset", steps_offset, "added to the time steps of leading", at_least_zero);
  f.field("eta", eta, "share of DDPM's noise that ddim adds", fraction);
  f.choice("variance_type", variance_type,
           {{"fixed_small", VarianceType::fixed_small}, {"fixed_large", VarianceType::fixed_large}},
           "variance of the noise that ddpm adds");
  clipping.describe(f);
}

std::vector<double> SamplerOptions::timesteps(const NoiseSchedule& schedule) const {
  if (schedule.is_straight()) return flow_timesteps(num_inference_steps, schedule.size());
  if (sampler == SamplerKind::dpm_solver_multistep)
    return dpm_solver_timesteps(timestep_spacing, num_inference_steps, schedule.size(), steps_offset);
  if (sampler == SamplerKind::euler)
    return euler_timesteps(timestep_spacing, num_inference_steps, schedule.size(), steps_offset);
  return spaced_timesteps(timestep_spacing, num_inference_steps, schedule.size(), steps_offset);
}

void check_beginning(const NoiseSchedule& schedule, double first) {
  const NoiseLevel level = schedule.level(first);
  if (level.noise > level.signal) return;
  fail(Exit::usage,
       text("sampling would begin at time ", first, " of a schedule of ", schedule.size(),
            ", where an image is still stronger than the noise, and sampling begins with noise alone"),
       "take more steps, or timestep_spacing=trailing, which begins at the last time");
}

void SamplerOptions::check_path(const NoiseSchedule& schedule) const {
  clipping.check();
  if (schedule.is_straight() && (sampler == SamplerKind::ddpm || sampler == SamplerKind::ddim))
    fail(Exit::usage,
         text("sampler=", sampler_name(sampler), " on the straight path of schedule=rectified_flow"),
         "choose sampler=euler or dpm_solver_multistep; ddpm and ddim want a schedule with betas");
}

void SamplerOptions::check(const NoiseSchedule& schedule) const {
  check_path(schedule);
  check_beginning(schedule, timesteps(schedule).front());
}

std::vector<SamplingStep> sampling_steps(const std::vector<double>& timesteps) {
  std::vector<SamplingStep> steps;
  for (std::size_t i = 0; i < timesteps.size(); ++i)
    steps.push_back({.from = timesteps[i], .to = i + 1 < timesteps.size() ? timesteps[i + 1] : clean_time});
  return steps;
}

struct Sampler::Levels {
  NoiseLevel from, to;

  /// What a step adds to the variance, and what it leaves of the signal; of a table.
  double beta() const { return 1 - alpha(); }
  double alpha() const { return from.signal * from.signal / (to.signal * to.signal); }
  double noise_ratio() const { return to.noise * to.noise / (from.noise * from.noise); }
};

Sampler::Sampler(const NoiseSchedule& schedule, PredictionType type, const SamplerOptions& options)
    : Sampler(schedule, type, options, sampling_steps(options.timesteps(schedule))) {}

Sampler::Sampler(NoiseSchedule schedule, PredictionType type, const SamplerOptions& options,
                 std::vector<SamplingStep> steps)
    : schedule_(std::move(schedule)), type_(type), options_(options), steps_(std::move(steps)) {
  options_.check_path(schedule_);
  nn::check(type_, schedule_);
}

Sampler::Levels Sampler::levels(int64_t index) const {
  const SamplingStep& step = steps_.at(static_cast<std::size_t>(index));
  return {.from = schedule_.level(step.from), .to = schedule_.level(step.to)};
}

bool Sampler::draws_noise(int64_t index) const {
  if (levels(index).to.noise == 0) return false;
  return options_.sampler == SamplerKind::ddpm || (options_.sampler == SamplerKind::ddim && options_.eta > 0);
}

at::Tensor Sampler::step(int64_t index, const at::Tensor& x, const at::Tensor& output,
                         const at::Tensor& noise) {
  const Levels at_step = levels(index);
  Denoised result = denoised(type_, x, output, at_step.from);
  result.x0 = clipped(result.x0, options_.clipping);
  const at::Tensor added = draws_noise(index) ? noise : at::Tensor();
  switch (options_.sampler) {
    case SamplerKind::ddpm:
      return step_ddpm(at_step, x, result.x0, added);
    case SamplerKind::ddim:
      return step_ddim(at_step, result, added);
    case SamplerKind::dpm_solver_multistep:
      return step_dpm_solver(index, x, result.x0);
    case SamplerKind::euler:
      // The direction follows from x0 as it was clipped; DDIM keeps the epsilon of before.
      result.epsilon = (x - at_step.from.signal * result.x0) / at_step.from.noise;
      return at_step.to.signal * result.x0 + at_step.to.noise * result.epsilon;
  }
  assert(false);  // All samplers are named above.
  return {};
}

at::Tensor Sampler::step_ddpm(const Levels& levels, const at::Tensor& x, const at::Tensor& x0,
                              const at::Tensor& noise) const {
  const double variance_from = levels.from.noise * levels.from.noise;
  const double of_x0 = levels.to.signal * levels.beta() / variance_from;
  const double of_x = std::sqrt(levels.alpha()) * levels.noise_ratio();
  const at::Tensor mean = of_x0 * x0 + of_x * x;
  if (!noise.defined()) return mean;
  constexpr double least_variance = 1e-20;
  const double small = std::max(levels.beta() * levels.noise_ratio(), least_variance);
  return mean +
         std::sqrt(options_.variance_type == VarianceType::fixed_small ? small : levels.beta()) * noise;
}

at::Tensor Sampler::step_ddim(const Levels& levels, const Denoised& denoised, const at::Tensor& noise) const {
  const double deviation = options_.eta * std::sqrt(levels.noise_ratio() * levels.beta());
  const double rest = std::sqrt(levels.to.noise * levels.to.noise - deviation * deviation);
  const at::Tensor mean = levels.to.signal * denoised.x0 + rest * denoised.epsilon;
  return noise.defined() ? mean + deviation * noise : mean;
}

at::Tensor Sampler::step_dpm_solver(int64_t index, const at::Tensor& x, const at::Tensor& x0) {
  const at::Tensor before = std::exchange(x0_before_, x0);
  const Levels here = levels(index);
  // The image itself lies at an infinite half_log_snr, where no slope can be taken.
  if (here.to.noise == 0) return x0;
  const double at_from = half_log_snr(here.from);
  const double length = half_log_snr(here.to) - at_from;
  at::Tensor estimate = x0;
  if (index > 0) {
    const double length_before = at_from - half_log_snr(levels(index - 1).from);
    estimate = x0 + (length / (2 * length_before)) * (x0 - before);
  }
  return (here.to.noise / here.from.noise) * x - here.to.signal * std::expm1(-length) * estimate;
}

SamplerOptions fast_ddpm_sampler(FastDdpmSampler kind, double eta) {
  SamplerOptions options;
  options.eta = eta;
  options.clipping.clip_sample = kind == FastDdpmSampler::ddpm_noisy;
  options.sampler = kind == FastDdpmSampler::generalized ? SamplerKind::ddim : SamplerKind::ddpm;
  options.variance_type = VarianceType::fixed_large;
  return options;
}

}  // namespace larmor::nn
