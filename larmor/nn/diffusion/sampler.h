// From noise to an image, step by step: DDPM, DDIM, DPM-Solver++(2M) and Euler's method over one list of
// times. Fast-DDPM's samplers are two of these over a list of its own (fast_ddpm_sampler). Sources:
// diffusers' DDPMScheduler, DDIMScheduler, DPMSolverMultistepScheduler and EulerDiscreteScheduler,
// monai.networks.schedulers; functions/denoising.py of mirthAI/Fast-DDPM.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/config/fields.h"
#include "larmor/nn/diffusion/clipping.h"
#include "larmor/nn/diffusion/noise_schedule.h"
#include "larmor/nn/diffusion/prediction_type.h"
#include "larmor/nn/diffusion/timesteps.h"

namespace larmor::nn {

/// Throws Error (usage) where the image is still stronger than the noise at the time that sampling begins
/// with: what comes out of noise there is noise. One step of `leading` or `linspace` begins at 0.
void check_beginning(const NoiseSchedule& schedule, double first);

struct SamplerOptions {
  enum class Kind { ddpm, ddim, dpm_solver_multistep, euler };
  /// The variance of the noise that DDPM adds: beta_t times the share that the next step leaves, or beta_t
  /// itself.
  enum class VarianceType { fixed_small, fixed_large };

  Kind sampler = Kind::ddim;
  int64_t num_inference_steps = 50;
  TimestepSpacing timestep_spacing = TimestepSpacing::leading;
  int64_t steps_offset = 0;
  double eta = 0;  // of DDIM
  VarianceType variance_type = VarianceType::fixed_small;
  ClippingOptions clipping = {};

  void describe(Fields& f);
  /// The times that `sampler` visits. Throws Error (usage): more steps than the schedule has.
  std::vector<double> timesteps(const NoiseSchedule& schedule) const;
  /// Throws Error (usage): sampler and path that do not go together.
  void check_path(const NoiseSchedule& schedule) const;
  /// Throws Error (usage) as check_path(), timesteps() and check_beginning() of these.
  void check(const NoiseSchedule& schedule) const;
};

/// One step of sampling; `to` is clean_time at the last one.
struct SamplingStep {
  double from = 0, to = clean_time;
};
/// The steps from each time to the next one of the list, and from the last one to the image.
std::vector<SamplingStep> sampling_steps(const std::vector<double>& timesteps);

/// One chain of steps for the rows of a batch, in order: step() is called once for each. One thread.
class Sampler {
 public:
  /// Throws Error (usage) as SamplerOptions::check_path() and timesteps(), and check(type, schedule).
  Sampler(const NoiseSchedule& schedule, PredictionType type, const SamplerOptions& options);
  /// A sampler over steps of its own, as Fast-DDPM's; num_inference_steps, spacing and offset do not count.
  Sampler(NoiseSchedule schedule, PredictionType type, const SamplerOptions& options,
          std::vector<SamplingStep> steps);

  const std::vector<SamplingStep>& steps() const { return steps_; }
  /// Whether step `index` adds noise of its own.
  bool draws_noise(int64_t index) const;
  /// x at steps()[index].to, of x at .from and what the network says of it there; in x's type. `noise`:
  /// standard normals like x where draws_noise(), else not looked at.
  at::Tensor step(int64_t index, const at::Tensor& x, const at::Tensor& output, const at::Tensor& noise = {});

 private:
  struct Levels;
  Levels levels(int64_t index) const;
  at::Tensor step_ddpm(const Levels& levels, const at::Tensor& x, const at::Tensor& x0,
                       const at::Tensor& noise) const;
  at::Tensor step_ddim(const Levels& levels, const Denoised& denoised, const at::Tensor& noise) const;
  at::Tensor step_dpm_solver(int64_t index, const at::Tensor& x, const at::Tensor& x0);

  const NoiseSchedule schedule_;
  const PredictionType type_;
  const SamplerOptions options_;
  const std::vector<SamplingStep> steps_;
  at::Tensor x0_before_;  // of DPM-Solver++'s last step
};

/// How Fast-DDPM samples over its short lists.
enum class FastDdpmSampler {
  generalized,  // DDIM, nothing is clipped
  ddpm_noisy,   // DDPM with the larger variance, x0 is clipped to [-1, 1]
};
SamplerOptions fast_ddpm_sampler(FastDdpmSampler kind, double eta = 0);

}  // namespace larmor::nn
