#include "workloads/latent_diffusion/diffusion/diffusion_task.h"

#include <algorithm>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/device/draw_position.h"
#include "larmor/device/initialisation.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/nn/diffusion/denoising_error.h"
#include "larmor/nn/metrics/image_metrics.h"
#include "larmor/task/prediction.h"

#include "workloads/latent_diffusion/diffusion/filtered_input.h"
#include "workloads/latent_diffusion/diffusion/kept_latents.h"
#include "workloads/latent_diffusion/diffusion/latent_distance.h"
#include "workloads/latent_diffusion/diffusion/latent_scale.h"
#include "workloads/latent_diffusion/diffusion/latent_spectra.h"
#include "workloads/latent_diffusion/diffusion/latent_statistics.h"
#include "workloads/latent_diffusion/diffusion/sample_picture.h"
#include "workloads/latent_diffusion/diffusion/translation.h"

namespace larmor::latent_diffusion {

namespace {
constexpr const char* scale_name = "scale_factor";
constexpr const char* target_purpose = "posterior";
constexpr const char* condition_purpose = "posterior of the condition";
}  // namespace

DiffusionTask::DiffusionTask(const DiffusionConfig& config, uint64_t seed, std::unique_ptr<Task> autoencoder,
                             SampleGrid grid, c10::Device device)
    : config_(config), schedule_(config.noise), grid_(std::move(grid)), latents_(std::move(autoencoder)) {
  config_.check_latent(latents_.options());
  const SeededInitialisation initialisation(seed);
  network_ = nn::DiffusionUnet(config.network, device);
  scale_ = DeviceConstant(at::ones({1, 1, 1, 1, 1}, at::kDouble));
}

std::vector<Objective> DiffusionTask::objectives() {
  return {{.name = "denoiser", .network = network_.get()}};
}

at::Tensor DiffusionTask::target_latent(const Batch& batch) const {
  const auto kept = batch.tensors.find(kept_latent::target);
  if (kept != batch.tensors.end()) return LatentSpace::drawn(kept->second, target_purpose);
  return latents_.sampled(config_.is_conditioned() ? batch.at("label") : latents_.image_of(batch),
                          target_purpose);
}

void DiffusionTask::prepare(const EachBatch& first, const StepContext& context) {
  const bool is_each = config_.scale == DiffusionConfig::Scale::per_channel;
  LatentSpread spread(is_each ? config_.network.out_channels : 1);
  first([&](const Batch& batch) { spread.add(target_latent(batch)); });
  scale_ = DeviceConstant(spread.scale(context.sum_over_ranks));
}

// The condition stays unscaled, as in the reference, whose weights would otherwise be of no use.
DiffusionTask::Latents DiffusionTask::latents_of(const Batch& batch) const {
  const at::Tensor target = target_latent(batch);
  Latents latents{.target = target * scale_.like(target), .condition = {}};
  if (!config_.is_conditioned()) return latents;
  const auto kept = batch.tensors.find(kept_latent::condition);
  latents.condition = kept != batch.tensors.end() ? LatentSpace::drawn(kept->second, condition_purpose)
                                                  : latents_.sampled(batch.at("image"), condition_purpose);
  return latents;
}

at::Tensor DiffusionTask::denoise(const at::Tensor& x, const at::Tensor& condition, const at::Tensor& times) {
  return network_->forward(condition.defined() ? at::cat({x, condition}, 1) : x, times).to(x.scalar_type());
}

at::Tensor DiffusionTask::row_errors(const Latents& latents, const at::Tensor& times,
                                     const at::Tensor& noise) {
  const nn::NoiseLevels levels = schedule_.levels(times, latents.target);
  const at::Tensor x_t = levels.signal * latents.target + levels.noise * noise;
  const at::Tensor output = denoise(x_t, latents.condition, times);
  return nn::denoising_errors(config_.prediction_type, {.x0 = latents.target, .epsilon = noise}, output,
                              levels, config_.min_snr_gamma);
}

std::vector<at::Tensor> DiffusionTask::losses(const Batch& batch, const StepContext& context) {
  const Latents latents = latents_of(batch);
  const at::Tensor times = nn::draw_training_times(schedule_, config_.times, latents.target);
  const at::Tensor loss =
      row_errors(latents, times, draw_normal_like(latents.target, "diffusion noise")).mean();
  context.record("loss", loss);
  return {loss};
}

void DiffusionTask::validate(const Batch& batch, Metrics& metrics) {
  if (metrics.of_reference()) {
    note_training_cases(batch, metrics);
    return;
  }
  const Latents latents = latents_of(batch);
  const at::Tensor errors = nn::mean_over_even_times(schedule_, latents.target,
                                                     [&](const at::Tensor& times, const at::Tensor& noise) {
                                                       return row_errors(latents, times, noise);
                                                     })
                                .cpu();
  for (int64_t row = 0; row < batch.size(); ++row)
    metrics.value("loss", batch.keys[static_cast<size_t>(row)].example, errors[row].item<double>());
  if (metrics.depth() == ValidationDepth::full) {
    judge_samples(batch, latents, metrics);
  } else {
    show_samples(batch, latents, metrics);
  }
}

void DiffusionTask::note_training_cases(const Batch& batch, Metrics& metrics) {
  if (config_.is_conditioned()) {
    for (int64_t row = 0; row < batch.size(); ++row)
      note_filtered(batch.keys[static_cast<size_t>(row)].example, batch.at("image")[row],
                    batch.at("label")[row], metrics);
    return;
  }
  const at::Tensor posterior = latents_.posterior(latents_.image_of(batch));
  const at::Tensor means = posterior.chunk(2, 1)[0];
  for (int64_t row = 0; row < batch.size(); ++row)
    note_place(batch.keys[static_cast<size_t>(row)].example, means[row], metrics);
  if (metrics.depth() != ValidationDepth::full) return;  // a picture wants no more
  const at::Tensor drawn = LatentSpace::drawn(posterior, target_purpose);
  for (int64_t row = 0; row < batch.size(); ++row)
    note_blocks(blocks::of_training, batch.keys[static_cast<size_t>(row)].example, drawn[row], metrics);
}

nn::SamplerOptions DiffusionTask::sampling_for_a_picture() const {
  nn::SamplerOptions sampling = config_.sampling;
  sampling.num_inference_steps = std::min(sampling.num_inference_steps, steps_for_a_picture);
  return sampling;
}

at::Tensor DiffusionTask::sampled_latents(const nn::SamplerOptions& sampling, const Batch& batch,
                                          const Latents& latents,
                                          const std::function<void(double)>& progress) {
  // As predict() has it: the mean, where training draws.
  const at::Tensor condition = config_.is_conditioned() ? latents_.mean(batch.at("image")) : at::Tensor();
  const auto denoising = [&](const at::Tensor& x, const at::Tensor& times) {
    return denoise(x, condition, times);
  };
  return sampled_latent(sampling, latents.target, denoising, progress);
}

void DiffusionTask::show_samples(const Batch& batch, const Latents& latents, Metrics& metrics) {
  constexpr int64_t most_shown = 2;
  const auto is_shown = [&](const ExampleKey& key) {
    return metrics.shown_as(key.example).value_or(most_shown) < most_shown;
  };
  if (std::ranges::none_of(batch.keys, is_shown)) return;
  const nn::SamplerOptions sampling = sampling_for_a_picture();
  const SampleSteps steps{.taken = sampling.num_inference_steps, .all = config_.sampling.num_inference_steps};
  const at::Tensor latent = sampled_latents(sampling, batch, latents, metrics.progress());
  for (int64_t row = 0; row < batch.size(); ++row) {
    const ExampleKey& key = batch.keys[static_cast<size_t>(row)];
    if (!is_shown(key)) continue;
    const at::Tensor image = latents_.decoded(latent.narrow(0, row, 1))[0];
    if (config_.is_conditioned()) {
      show_translated(
          {.condition = batch.at("image")[row], .result = image, .target = batch.at("label")[row]}, steps,
          key.example, metrics);
    } else {
      note_place(key.example, latent[row], metrics);
      show_invented(image, grid_.affine, steps, key.example, metrics);
    }
  }
}

void DiffusionTask::judge_samples(const Batch& batch, const Latents& latents, Metrics& metrics) {
  const SampleSteps steps{.taken = config_.sampling.num_inference_steps,
                          .all = config_.sampling.num_inference_steps};
  const at::Tensor latent = sampled_latents(config_.sampling, batch, latents, metrics.progress());
  if (!config_.is_conditioned()) {
    const at::Tensor truth = latents.target / scale_.like(latents.target);
    for (int64_t row = 0; row < batch.size(); ++row) {
      const auto example = batch.keys[static_cast<size_t>(row)].example;
      note_latent("true", example, truth[row], metrics);
      note_latent("invented", example, latent[row], metrics);
      note_place(example, latent[row], metrics);
      note_blocks(blocks::of_truth, example, truth[row], metrics);
      note_blocks(blocks::of_invented, example, latent[row], metrics);
      if (metrics.shows(example))
        show_invented(latents_.decoded(latent.narrow(0, row, 1))[0], grid_.affine, steps, example, metrics);
    }
    return;
  }
  const at::Tensor image = latents_.decoded(latent), truth = batch.at("label");
  const at::Tensor psnr = nn::psnr(image, truth, /*max_value=*/1).cpu(), ssim = nn::ssim(image, truth).cpu();
  const at::Tensor mae = (image - truth).abs().flatten(1).mean(1).cpu();
  for (int64_t row = 0; row < batch.size(); ++row) {
    const auto example = batch.keys[static_cast<size_t>(row)].example;
    metrics.value("psnr", example, psnr[row].item<double>());
    metrics.value("ssim", example, ssim[row].item<double>());
    metrics.value("mae", example, mae[row].item<double>());
    note_filtered(example, batch.at("image")[row], truth[row], metrics);
    if (metrics.shows(example))
      show_translated({.condition = batch.at("image")[row], .result = image[row], .target = truth[row]},
                      steps, example, metrics);
  }
}

void DiffusionTask::show_nearest(const CaseValues& cases, const CaseValues& reference, Metrics& metrics) {
  for (const Neighbour& pair : nearest_in_training(cases, reference)) {
    if (!metrics.shows(pair.invented)) continue;
    const auto found = metrics.reference_case(pair.training);
    if (!found) continue;
    const Batch one = collate({found->sample}, {ExampleKey{}});
    show_training_case({.image = latents_.image_of(one)[0], .name = found->name, .ratio = pair.ratio},
                       found->grid.value_or(grid_.affine), pair.invented, metrics);
  }
}

void DiffusionTask::summarize(const CaseValues& cases, const CaseValues& reference, Metrics& metrics) {
  if (metrics.wants_pictures() && !config_.is_conditioned()) show_nearest(cases, reference, metrics);
  if (metrics.depth() != ValidationDepth::full) return;  // of a few samples in a few steps no figure is given
  report_latent_errors(cases, metrics);
  report_nearest(cases, reference, metrics);
  report_coverage(cases, reference, metrics);
  report_frechet(cases, reference, metrics);
  report_filtered(cases, reference, metrics);
}

DeclaredFigures DiffusionTask::figures() const {
  using enum Better;
  constexpr const char* is_filter = "no better than what needs no network";
  const auto psnr = [](const char* name, const char* meaning) {
    return DeclaredFigure{.name = name, .better = higher, .unit = "dB", .meaning = meaning};
  };
  DeclaredFigure translated = psnr("psnr", "peak signal to noise of the translation");
  translated.baselines = {{.name = "psnr_input", .if_worse = is_filter},
                          {.name = "psnr_gaussian", .if_worse = is_filter}};
  return {
      {.name = "loss", .better = lower, .meaning = "error of the U-Net at fixed times"},
      translated,
      psnr("psnr_input", "the same of the scan that is given"),
      psnr("psnr_gaussian", "the same of that scan behind a Gaussian filter"),
      {.name = "gaussian_voxels", .unit = "voxels", .meaning = "deviation of that filter"},
      {.name = "ssim", .better = higher, .meaning = "structural similarity of the translation"},
      {.name = "mae", .better = lower, .meaning = "mean absolute error of the translation"},
      {.name = "frechet", .better = lower, .meaning = "Frechet distance of invented latents to training's"},
      {.name = "frechet_of_truth", .meaning = "the same of the split's own latents: what can be reached"},
      {.name = "latent_precision", .better = higher, .meaning = "invented latents among those of training"},
      {.name = "latent_recall", .better = higher, .meaning = "training's latents among the invented ones"},
      {.name = "nearest_training_latent", .meaning = "near 0 an invented latent is a copy"},
      {.name = "latent_mean_error", .better = lower, .meaning = "of a channel's mean, in its deviations"},
      {.name = "latent_std_error", .better = lower, .meaning = "of a channel's deviation"},
  };
}

at::Tensor DiffusionTask::sampled_latent(const nn::SamplerOptions& sampling, const at::Tensor& like,
                                         const nn::DenoisingFunction& denoising,
                                         const std::function<void(double)>& progress) const {
  const nn::Sampler sampler(schedule_, config_.prediction_type, sampling);
  return nn::sample(sampler, like, denoising, progress) / scale_.like(like);
}

void DiffusionTask::count_sample(const at::Tensor& image) {
  const at::Tensor latent = latents_.mean(image);
  const at::Tensor condition = config_.is_conditioned() ? at::empty_like(latent) : at::Tensor();
  denoise(latent, condition, at::zeros({latent.size(0)}, latent.options().dtype(at::kDouble)));
  latents_.decoded(latent);
}

Prediction DiffusionTask::invented(const PredictionContext& context) {
  const auto divisor = latents_.options().size_divisor();
  std::vector<int64_t> shape{1, config_.network.out_channels};
  for (const auto size : grid_.window) shape.push_back(size / divisor);
  const at::Tensor like = at::empty(shape, at::TensorOptions(context.type).device(context.device));
  const auto denoising = [&](const at::Tensor& x, const at::Tensor& times) { return denoise(x, {}, times); };
  const at::Tensor image =
      latents_.decoded(sampled_latent(config_.sampling, like, denoising, context.progress));
  return {.volumes = {{output_name, {.voxels = image[0].cpu().contiguous(), .affine = grid_.affine}}}};
}

Prediction DiffusionTask::translated(const at::Tensor& image, const PredictionContext& context) {
  const Translation translation(latents_, config_.network.size_divisor(), grid_.window,
                                context.fits_in_one_pass);
  const auto parts = [this](const at::Tensor& x, const at::Tensor& condition, const at::Tensor& times) {
    return denoise(x, condition, times);
  };
  const auto from_noise = [&](const at::Tensor& like, const nn::DenoisingFunction& denoising) {
    return sampled_latent(config_.sampling, like, denoising, context.progress);
  };
  const at::Tensor result = translation.translate(image, parts, from_noise);
  return {.volumes = {{output_name, context.on_grid_of(condition_name, result[0])}}};
}

Prediction DiffusionTask::predict(const Batch& inputs, const PredictionContext& context) {
  return config_.is_conditioned() ? translated(inputs.at(condition_name), context) : invented(context);
}

void DiffusionTask::save(StateWriter& writer) const { writer.tensor(scale_name, scale_.host()); }

void DiffusionTask::load(const StateReader& reader, bool /*of_average*/) {
  scale_ = DeviceConstant(
      reader.tensor(scale_name).to(at::TensorOptions().dtype(at::kDouble).device(at::kCPU), false, true));
}

}  // namespace larmor::latent_diffusion
