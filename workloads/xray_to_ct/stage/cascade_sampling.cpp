// Sampling: this stage's volume from noise, after those of the stages before, guided by the measured
// radiographs where that is asked for.
#include <utility>

#include <ATen/ATen.h>

#include "larmor/device/draw_position.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/kernels/projector/projector.h"
#include "larmor/nn/diffusion/sampling.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"
#include "workloads/xray_to_ct/stage/cascade_task.h"

namespace larmor::xray_to_ct {
namespace {

/// Draws of an earlier stage, for the examples that this thread draws for: those of each stage are its own.
DrawPosition draws_before(int64_t stage) {
  constexpr uint64_t apart = 0x9e3779b97f4a7c15;
  DrawPosition position = draw_position();
  position.seed ^= apart * static_cast<uint64_t>(stage);
  position.turn = 0;
  return position;
}

constexpr double least_length = 1e-12;

/// [N, V, 2]: how line integrals become the measured radiographs, view by view, by least squares.
at::Tensor fitted_intensities(const at::Tensor& integrals, const at::Tensor& xrays) {
  const at::Tensor x = integrals.flatten(2), y = xrays.flatten(2);
  const at::Tensor centred = x - x.mean(2, true);
  const at::Tensor slope = (centred * y).sum(2) / centred.square().sum(2).clamp_min(1e-6);
  return at::stack({slope, y.mean(2) - slope * x.mean(2)}, 2);
}

}  // namespace

at::Tensor CascadeTask::own_rays(int64_t rows, c10::Device device) const {
  const at::Tensor rays = ray_geometry(config_.pairs.views(config_.view_count()),
                                       config_.pairs.positions(config_.network.volume_size));
  return rays.unsqueeze(0).expand({rows, -1, -1}).to(device);
}

CascadeTask::Examples CascadeTask::examples_given(const Given& given) {
  Examples examples{.volume = {},
                    .xrays = given.xrays,
                    .rays = given.rays,
                    .intensity = given.intensity,
                    .earlier = {},
                    .augmented = {}};
  if (!examples.rays.defined()) examples.rays = own_rays(given.xrays.size(0), given.xrays.device());
  if (!config_.follows_another()) return examples;
  at::Tensor before = given.earlier;
  if (!before.defined()) {
    const DrawScope draws(draws_before(config_.stage));
    before = earlier_->sample({.xrays = given.xrays});
  }
  const double level = config_.earlier.sampling_noise;
  const at::Tensor large = enlarged(scaled(before));
  examples.earlier = large + level * draw_normal_like(large, "noise of the given stage");
  examples.augmented = at::full({large.size(0)}, level, large.options());
  return examples;
}

// A step down the gradient of the physics term with respect to the predicted volume, divided by the
// gradient's own length: `guidance` is a distance in the volume's units, the same at every step and size.
at::Tensor CascadeTask::guided(const Examples& examples, const at::Tensor& volumes) const {
  const int64_t rows = examples.xrays.size(2), columns = examples.xrays.size(3);
  Examples matched = examples;
  if (!matched.intensity.defined()) {
    const at::Tensor plain =
        at::tensor({1.0F, 0.0F}, volumes.options()).expand({volumes.size(0), examples.xrays.size(1), 2});
    matched.intensity = fitted_intensities(
        radiographs_of(volumes, examples.rays, plain, rows, columns, config_.pairs).squeeze(2),
        examples.xrays);
  }
  const at::AutoGradMode graph(true);
  const at::Tensor moved = volumes.detach().requires_grad_(true);
  physics_errors(matched, moved).sum().backward();
  const at::Tensor& gradient = moved.grad();
  const at::Tensor length = gradient.flatten(1).square().mean(1).sqrt().clamp_min(least_length);
  return volumes - config_.guidance * gradient / length.view({-1, 1, 1, 1, 1});
}

at::Tensor CascadeTask::corrected(const Examples& examples, const at::Tensor& x, const at::Tensor& output,
                                  const at::Tensor& times) const {
  const nn::NoiseLevels levels = schedule_.levels(times, x);
  at::Tensor volumes = unscaled(nn::denoised(config_.prediction_type, x, output, levels).x0);
  if (config_.sampling.clipping.clip_sample) {
    const double most = config_.sampling.clipping.clip_sample_range;
    volumes = volumes.clamp(-most, most);
  }
  if (config_.guidance > 0) volumes = guided(examples, volumes);
  const at::Tensor x0 = scaled(volumes);
  const at::Tensor epsilon = (x - levels.signal * x0) / levels.noise;
  return nn::target(config_.prediction_type, {.x0 = x0, .epsilon = epsilon}, levels);
}

std::vector<at::Tensor> CascadeTask::sampled_before(const at::Tensor& xrays) {
  if (!config_.follows_another()) return {};
  const DrawScope draws(draws_before(config_.stage));
  std::vector<at::Tensor> volumes = earlier_->sampled_before(xrays);
  Given given{.xrays = xrays};
  if (!volumes.empty()) given.earlier = volumes.back();
  volumes.push_back(earlier_->sample(given));
  return volumes;
}

at::Tensor CascadeTask::sample(const Given& given, const std::function<void(double)>& progress) {
  const Examples examples = examples_given(given);
  const int64_t size = config_.network.volume_size;
  const auto denoise = [&](const at::Tensor& x, const at::Tensor& times) {
    return corrected(examples, x, output_for(examples, x, times), times);
  };
  nn::SamplerOptions options = config_.sampling;
  options.clipping.clip_sample = false;  // it is done on the scale of volumes
  nn::Sampler sampler(schedule_, config_.prediction_type, options);
  const at::Tensor like = at::empty({given.xrays.size(0), 1, size, size, size}, given.xrays.options());
  return unscaled(nn::sample(std::move(sampler), like, denoise, progress)).clamp(-1, 1);
}

}  // namespace larmor::xray_to_ct
