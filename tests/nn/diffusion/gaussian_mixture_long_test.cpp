// What samplers make of a perfect denoiser: for a mixture of Gaussians the best answer is known in closed
// form.
#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/draw_position.h"
#include "larmor/nn/diffusion/sampling.h"

#include "tests/nn/support/golden.h"

namespace larmor::nn {
namespace {

using SamplerKind = SamplerOptions::Kind;
using ScheduleKind = NoiseScheduleOptions::Kind;

/// Two round clouds in the plane.
struct GaussianMixture {
  at::Tensor weights;  // [2]
  at::Tensor means;    // [2, 2], one a row
  std::vector<double> variances;

  at::Tensor mean() const { return at::matmul(weights, means); }
  at::Tensor covariance() const {
    const at::Tensor offsets = means - mean();
    return at::matmul(offsets.t(), weights.view({2, 1}) * offsets) +
           at::eye(2, at::kDouble) * at::dot(weights, at::tensor(variances, at::kDouble));
  }
  at::Tensor best_x0(const at::Tensor& x, NoiseLevel level) const;
};

/// The mean of x0 given x_t [1, n, 2].
at::Tensor GaussianMixture::best_x0(const at::Tensor& x, NoiseLevel level) const {
  std::vector<at::Tensor> log_weights, images;
  for (std::size_t k = 0; k < 2; ++k) {
    const double spread = level.signal * level.signal * variances[k] + level.noise * level.noise;
    const at::Tensor centre = means[static_cast<int64_t>(k)].to(x.scalar_type());
    const at::Tensor offset = x - level.signal * centre;
    const double weight = weights[static_cast<int64_t>(k)].item<double>();
    log_weights.push_back(offset.square().sum(2, true) / (-2 * spread) + std::log(weight / spread));
    images.push_back(centre + (level.signal * variances[k] / spread) * offset);
  }
  const at::Tensor share = at::sigmoid(log_weights[1] - log_weights[0]);
  return (1 - share) * images[0] + share * images[1];
}

/// Near to one another, and of other weights.
GaussianMixture uneven_mixture() {
  return {at::tensor({0.3, 0.7}, at::kDouble),
          at::tensor({-0.8, 0.6, 0.9, 0.3}, at::kDouble).view({2, 2}),
          {0.0004, 0.0016}};
}

/// So far from one another that ten steps can tell them apart.
GaussianMixture distant_mixture() {
  return {at::tensor({0.5, 0.5}, at::kDouble),
          at::tensor({-2.0, -1.5, 2.0, 1.5}, at::kDouble).view({2, 2}),
          {0.0004, 0.0016}};
}

/// Many samples, drawn as the pixels of one image: their mean is held to the spread of the mixture, their
/// covariance to the mixture's.
void expect_statistics(const GaussianMixture& mixture, const NoiseSchedule& schedule, const Sampler& sampler,
                       double tolerance) {
  constexpr int64_t count = 1 << 17;
  const DrawScope draws({.seed = 5, .epochs = {0}, .examples = {0}});
  const at::Tensor image =
      sample(sampler, at::zeros({1, count, 2}), [&](const at::Tensor& x, const at::Tensor& times) {
        return mixture.best_x0(x, schedule.level(times[0].item<double>()));
      });
  const at::Tensor points = image[0].to(at::kDouble);
  const double spread = std::sqrt(at::trace(mixture.covariance()).item<double>());
  EXPECT_LE((points.mean(0) - mixture.mean()).norm().item<double>() / spread, tolerance);
  EXPECT_LE(testing::relative_l2(at::cov(points.t()), mixture.covariance()), tolerance);
}

void expect_statistics(const NoiseScheduleOptions& schedule_options, SamplerOptions options) {
  options.clipping.clip_sample = false;
  const NoiseSchedule schedule(schedule_options);
  expect_statistics(uneven_mixture(), schedule, Sampler(schedule, PredictionType::sample, options), 0.01);
}

TEST(GaussianMixtureSampling, IsRightByDdpmInAThousandSteps) {
  expect_statistics({}, {.sampler = SamplerKind::ddpm, .num_inference_steps = 1000});
}

TEST(GaussianMixtureSampling, IsRightByDdimInFiftySteps) {
  for (const TimestepSpacing spacing :
       {TimestepSpacing::leading, TimestepSpacing::linspace, TimestepSpacing::trailing})
    expect_statistics({}, {.sampler = SamplerKind::ddim, .timestep_spacing = spacing});
}

TEST(GaussianMixtureSampling, IsRightByDpmSolverInThirtySteps) {
  for (const ScheduleKind kind :
       {ScheduleKind::scaled_linear, ScheduleKind::cosine, ScheduleKind::rectified_flow})
    expect_statistics({.schedule = kind}, {.sampler = SamplerKind::dpm_solver_multistep,
                                           .num_inference_steps = 30,
                                           .timestep_spacing = TimestepSpacing::trailing});
}

TEST(GaussianMixtureSampling, IsRightByEulerAlongAStraightPathInFiftySteps) {
  expect_statistics({.schedule = ScheduleKind::rectified_flow}, {.sampler = SamplerKind::euler});
}

TEST(GaussianMixtureSampling, IsRightByFastDdpmInTenSteps) {
  // The non-uniform list leaps from 199 to 0 and is left out: it keeps the covariance to 4 % only.
  const NoiseSchedule linear({.schedule = ScheduleKind::linear, .beta_start = 1e-4, .beta_end = 0.02});
  for (const FastDdpmSampler kind : {FastDdpmSampler::generalized, FastDdpmSampler::ddpm_noisy}) {
    SamplerOptions options = fast_ddpm_sampler(kind);
    options.clipping.clip_sample = false;
    for (const FastDdpmTimesteps list : {FastDdpmTimesteps::uniform, FastDdpmTimesteps::uniform_from_zero})
      expect_statistics(distant_mixture(), linear,
                        Sampler(linear, PredictionType::sample, options,
                                sampling_steps(descending(fast_ddpm_timesteps(list, 10, 1000)))),
                        0.02);
  }
}

}  // namespace
}  // namespace larmor::nn
