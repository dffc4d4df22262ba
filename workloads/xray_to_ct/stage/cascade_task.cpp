#include "workloads/xray_to_ct/stage/cascade_task.h"

#include <cmath>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/send.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/nn/diffusion/denoising_error.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"

namespace larmor::xray_to_ct {
namespace {

/// [N] to [N, 1, 1, 1, 1].
at::Tensor over_voxels(const at::Tensor& rows) { return rows.view({-1, 1, 1, 1, 1}); }

constexpr double least_variance = 1e-8;
constexpr double beyond_range =
    1.2;  // how far a predicted x0 may leave [-1, 1] before its error stops to count

}  // namespace

CascadeTask::CascadeTask(const CascadeConfig& config, uint64_t seed, std::unique_ptr<CascadeTask> earlier,
                         MeanVolume mean_volume, c10::Device device)
    : config_(config),
      schedule_(config.noise),
      earlier_(std::move(earlier)),
      make_mean_volume_(std::move(mean_volume)) {
  const SeededInitialisation initialisation(seed);
  network_ = config.make_network(device);
}

std::vector<Objective> CascadeTask::objectives() { return {{.name = "denoiser", .network = network_.get()}}; }

std::vector<torch::nn::Module*> CascadeTask::companions() {
  if (earlier_ == nullptr) return {};
  std::vector<torch::nn::Module*> all = earlier_->companions();
  all.push_back(earlier_->network_.get());
  return all;
}

// Without it, volumes that are mostly air leave little signal beside noise of deviation one.
void CascadeTask::prepare(const EachBatch& first, const StepContext& context) {
  at::Tensor sums = at::zeros({3}, at::kDouble);  // of values, of squares, and their number
  first([&](const Batch& batch) {
    const at::Tensor volume = batch.at(pair::volume).to(at::kCPU, at::kDouble);
    sums += at::stack({volume.sum(), volume.square().sum(),
                       at::scalar_tensor(static_cast<double>(volume.numel()), at::kDouble)});
  });
  sums = context.sum_over_ranks(sums);
  const double count = sums[2].item<double>();
  centre_ = sums[0].item<double>() / count;
  const double variance = sums[1].item<double>() / count - centre_ * centre_;
  if (!(variance > least_variance))
    fail(Exit::data, "the first volumes are of one value all over", "check data.hu_range and the CTs");
  spread_ = std::sqrt(variance);
}

void CascadeTask::save(StateWriter& writer) const {
  writer.value("centre", centre_);
  writer.value("spread", spread_);
}

void CascadeTask::load(const StateReader& reader, bool /*of_average*/) {
  centre_ = reader.value("centre").get<double>();
  spread_ = reader.value("spread").get<double>();
}

/// Of whatever size to this stage's.
at::Tensor CascadeTask::enlarged(const at::Tensor& volume) const {
  const int64_t size = config_.network.volume_size;
  if (volume.size(2) == size) return volume;
  return at::upsample_trilinear3d(volume, {size, size, size}, /*align_corners=*/false);
}

CascadeTask::Examples CascadeTask::examples_of(const Batch& batch) const {
  return {.volume = scaled(batch.at(pair::volume)),
          .xrays = batch.at(pair::radiographs).squeeze(2),
          .rays = batch.at(pair::rays),
          .intensity = batch.at(pair::intensity),
          .earlier = {},
          .augmented = {}};
}

void CascadeTask::draw_earlier(Examples& examples, const at::Tensor& sampled) const {
  const auto& settings = config_.earlier;
  const at::Tensor row = examples.volume.select(4, 0).select(3, 0).select(2, 0).select(1, 0);  // [N]
  const at::Tensor coarse = at::adaptive_avg_pool3d(examples.volume, sampled.sizes().slice(2));
  const at::Tensor is_truth =
      over_voxels(draw_kept_like(row, settings.truth_share, "truth in place of the earlier stage"))
          .to(row.scalar_type());
  const at::Tensor earlier = scaled(sampled), mixed = earlier + is_truth * (coarse - earlier);
  examples.augmented = draw_uniform_like(row, "noise of the earlier stage") * settings.noise;
  const at::Tensor large = enlarged(mixed);
  examples.earlier = large + over_voxels(examples.augmented) * draw_normal_like(large, "earlier stage");
}

at::Tensor CascadeTask::output_for(const Examples& examples, const at::Tensor& x,
                                   const at::Tensor& times) const {
  const at::Tensor shares = times.to(at::kDouble) / static_cast<double>(schedule_.size());
  return network_
      ->denoise({.noisy = x,
                 .time = send(shares.to(at::kFloat), x.device()),
                 .xrays = examples.xrays,
                 .previous = examples.earlier,
                 .augmented = examples.augmented})
      .to(x.scalar_type());
}

at::Tensor CascadeTask::physics_errors(const Examples& examples, const at::Tensor& x0) const {
  const at::Tensor seen =
      radiographs_of(x0.clamp(-beyond_range, beyond_range), examples.rays, examples.intensity,
                     examples.xrays.size(2), examples.xrays.size(3), config_.pairs);
  return at::square(seen.squeeze(2) - examples.xrays).flatten(1).mean(1);
}

CascadeTask::Errors CascadeTask::errors_of(const Examples& examples, const at::Tensor& times,
                                           const at::Tensor& noise) const {
  const nn::NoiseLevels levels = schedule_.levels(times, examples.volume);
  const at::Tensor x = levels.signal * examples.volume + levels.noise * noise;
  const at::Tensor output = output_for(examples, x, times);
  Errors result{
      .diffusion = nn::denoising_errors(config_.prediction_type, {.x0 = examples.volume, .epsilon = noise},
                                        output, levels, config_.min_snr_gamma),
      .physics = {}};
  if (config_.physics_weight > 0) {
    const at::Tensor x0 = nn::denoised(config_.prediction_type, x, output, levels).x0;
    result.physics = levels.signal.square().flatten() * physics_errors(examples, unscaled(x0));
  } else {
    result.physics = at::zeros_like(result.diffusion);
  }
  return result;
}

std::vector<at::Tensor> CascadeTask::losses(const Batch& batch, const StepContext& context) {
  Examples examples = examples_of(batch);
  if (config_.follows_another()) draw_earlier(examples, batch.at(earlier_name));
  const at::Tensor times = nn::draw_training_times(schedule_, config_.times, examples.volume);
  const Errors errors = errors_of(examples, times, draw_normal_like(examples.volume, "diffusion noise"));
  const at::Tensor diffusion = errors.diffusion.mean(), physics = errors.physics.mean();
  const at::Tensor loss = diffusion + config_.physics_weight * physics;
  context.record("loss", loss);
  context.record("diffusion", diffusion);
  if (config_.physics_weight > 0) context.record("physics", physics);
  return {loss};
}

void CascadeTask::validate(const Batch& batch, Metrics& metrics) {
  Examples examples = examples_of(batch);
  if (config_.follows_another()) {
    const at::Tensor large = enlarged(scaled(batch.at(earlier_name)));
    examples.earlier = large + config_.earlier.sampling_noise * draw_normal_like(large, "earlier stage");
    examples.augmented = at::full({batch.size()}, config_.earlier.sampling_noise, large.options());
  }
  const at::Tensor errors = nn::mean_over_even_times(schedule_, examples.volume,
                                                     [&](const at::Tensor& times, const at::Tensor& noise) {
                                                       const Errors of_time =
                                                           errors_of(examples, times, noise);
                                                       return at::stack({of_time.diffusion, of_time.physics});
                                                     })
                                .cpu();  // [2, N]
  for (int64_t row = 0; row < batch.size(); ++row) {
    const int64_t example = batch.keys[static_cast<std::size_t>(row)].example;
    const double of_noise = errors[0][row].item<double>(), of_physics = errors[1][row].item<double>();
    metrics.value("loss", example, of_noise + config_.physics_weight * of_physics);
    metrics.value("diffusion", example, of_noise);
    if (config_.physics_weight > 0) metrics.value("physics", example, of_physics);
  }
  // While a run trains, one case is sampled for the picture.
  const int64_t first = batch.keys.front().example;
  const bool is_shown = first == 0 && metrics.shows(first);
  if (metrics.depth() == ValidationDepth::full || is_shown) judge(batch, examples, metrics);
}

}  // namespace larmor::xray_to_ct
