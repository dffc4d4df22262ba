#include "workloads/latent_diffusion/autoencoder/autoencoder_task.h"

#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/text.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/module_state.h"
#include "larmor/device/tensors/weights_file.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/nn/losses/losses.h"
#include "larmor/nn/metrics/image_metrics.h"
#include "larmor/nn/sliding_window.h"
#include "larmor/task/prediction.h"
#include "larmor/transforms/compared_planes.h"

namespace larmor::latent_diffusion {

namespace {
constexpr const char* generator = "generator";
constexpr const char* discriminator = "discriminator";
constexpr const char* counted_kl = "kl_counted";
constexpr double window_overlap = 0.25;

/// Each channel beside what has become of it. image, reconstruction: [C, D, H, W]
void show_reconstruction(const at::Tensor& image, const at::Tensor& reconstruction, int64_t example,
                         Metrics& metrics) {
  const auto grid = metrics.grid(example);
  const Panel frame = comparing_panel("What the autoencoder makes of images", 0, 1, grid);
  PanelCase shown{.name = metrics.case_name(example)};
  for (int64_t channel = 0; channel < image.size(0); ++channel) {
    const std::string number = image.size(0) > 1 ? text(" ", channel + 1) : "";
    for (auto& one :
         compared_images({"target" + number, image[channel]},
                         {"reconstruction" + number, reconstruction[channel]}, "|difference|" + number, grid))
      shown.images.push_back(std::move(one));
  }
  metrics.show("reconstruction", frame, std::move(shown));
}
}  // namespace

AutoencoderTask::AutoencoderTask(const AutoencoderConfig& config, uint64_t seed, std::vector<int64_t> window,
                                 c10::Device device, const ValidationConfig& validation)
    : config_(config),
      window_(std::move(window)),
      validation_windows_{.size = validation.roi_size,
                          .overlap = validation.overlap,
                          .divisor = config.network.size_divisor()} {
  {
    const SeededInitialisation initialisation(seed);
    autoencoder_ = nn::AutoencoderKl(config.network, device);
    if (config.is_adversarial()) {
      auto options = config.discriminator;
      options.in_channels = config.network.out_channels;
      discriminator_ = nn::PatchDiscriminator(options, device);
    }
  }
  if (!config.is_perceptual()) return;
  perceptual_ = std::make_shared<nn::Lpips>(device);
  if (const auto file = config.perceptual_file(); !file.empty() && !device.is_meta())
    perceptual_->read_weights(file);
}

void AutoencoderTask::start() {
  if (!config_.weights.empty()) load_state_dict(*autoencoder_, read_published_weights(config_.weights));
}

std::vector<Objective> AutoencoderTask::objectives() {
  std::vector<Objective> all{{generator, autoencoder_.get()}};
  if (config_.is_adversarial()) all.push_back({discriminator, discriminator_.get()});
  return all;
}

std::vector<torch::nn::Module*> AutoencoderTask::companions() {
  if (perceptual_ == nullptr) return {};
  return {perceptual_.get()};
}

bool AutoencoderTask::is_active(const Objective& objective, const StepContext& context) const {
  return objective.name == generator || is_adversarial(context);
}

bool AutoencoderTask::is_adversarial(const StepContext& context) const {
  return config_.is_adversarial() && context.epoch >= config_.adversarial_start;
}

// A pair of scans fills two channels where the network has two; otherwise it learns from the first.
at::Tensor AutoencoderTask::image_of(const Batch& batch) const {
  const auto& image = batch.at("image");
  const bool pair = image.size(1) != config_.network.in_channels && batch.tensors.contains("label");
  return with_checked_channels(pair ? at::cat({image, batch.at("label")}, 1) : image);
}

at::Tensor AutoencoderTask::with_checked_channels(const at::Tensor& image) const {
  config_.check_channels(image.size(1));
  return image;
}

at::Tensor AutoencoderTask::reconstruction_error(const at::Tensor& reconstruction,
                                                 const at::Tensor& image) const {
  const auto difference = reconstruction - image;
  return config_.recon_loss == "l1" ? difference.abs().mean() : difference.square().mean();
}

at::Tensor AutoencoderTask::perceptual_error(const at::Tensor& reconstruction,
                                             const at::Tensor& image) const {
  return nn::slice_distance(*perceptual_, reconstruction, image, config_.perceptual_share);
}

at::Tensor AutoencoderTask::kl_term(const at::Tensor& mean, const at::Tensor& sigma,
                                    const StepContext& context) const {
  if (config_.kl_limit <= 0) {
    const auto kl = nn::kl_divergence(mean, sigma, /*most=*/0);
    context.record("kl", kl);
    return kl;
  }
  const auto of_samples = nn::kl_of_samples(mean, sigma);
  const auto counted = at::clamp(of_samples, 0.0, config_.kl_limit).mean();
  context.record("kl", of_samples.detach().mean());
  context.record(counted_kl, counted);
  return counted;
}

std::optional<Complaint> AutoencoderTask::complaint(const std::map<std::string, double>& recorded) const {
  const auto counted = recorded.find(counted_kl);
  if (config_.kl_weight <= 0 || counted == recorded.end()) return std::nullopt;
  constexpr double nearly = 1 - 1e-6;  // the mean of samples that are all at the clamp is rounded
  if (!(counted->second >= nearly * config_.kl_limit)) return std::nullopt;
  return Complaint{
      .key = "kl_limit",
      .words = text("the KL term is at its clamp, loss.kl_limit=", config_.kl_limit, ": the KL itself is ",
                    fixed(recorded.at("kl"), 0),
                    ", and the term has no gradient there, so that nothing holds the latents near a "
                    "normal distribution. loss.kl_limit=0 counts all of it, a larger one more")};
}

std::vector<at::Tensor> AutoencoderTask::losses(const Batch& batch, const StepContext& context) {
  const auto image = image_of(batch);
  const auto noise =
      draw_normal_like(at::empty(autoencoder_->latent_shape(image.sizes()), image.options()), "posterior");
  const auto output = autoencoder_(image, noise);

  const auto recon = reconstruction_error(output.reconstruction, image);
  const auto kl = kl_term(output.mean, output.sigma, context);
  auto total = recon + config_.kl_weight * kl;
  context.record("recon", recon);
  if (perceptual_ != nullptr) {
    const auto perceptual = perceptual_error(output.reconstruction, image).mean();
    total = total + config_.perceptual_weight * perceptual;
    context.record("perceptual", perceptual);
  }

  at::Tensor discriminator_loss;
  if (is_adversarial(context)) {
    {
      // The generator's term passes through the discriminator and leaves nothing in it.
      const nn::Frozen frozen(*discriminator_);
      const auto fooled = nn::adversarial_least_squares(discriminator_(output.reconstruction).back(),
                                                        /*target_is_real=*/true);
      total = total + config_.adversarial_weight * fooled;
      context.record("adversarial", fooled);
    }
    const auto fake =
        nn::adversarial_least_squares(discriminator_(output.reconstruction.detach()).back(), false);
    const auto real = nn::adversarial_least_squares(discriminator_(image).back(), true);
    discriminator_loss = config_.adversarial_weight * 0.5 * (fake + real);
    context.record("discriminator", discriminator_loss);
  }
  context.record("loss", total);
  if (!config_.is_adversarial()) return {total};
  return {total, discriminator_loss};
}

AutoencoderTask::Judged AutoencoderTask::judge(const at::Tensor& images, bool fits_in_one_pass,
                                               const std::function<void(double)>& progress) {
  const auto reconstruct = [&](const at::Tensor& part) {
    return autoencoder_->reconstruct(part).to(images.scalar_type());
  };
  nn::Windows windows = validation_windows_;
  if (windows.size.empty() && !fits_in_one_pass) windows.size = window_;
  const auto reconstruction =
      windows.size.empty() ? reconstruct(images) : nn::over_windows(images, windows, reconstruct, progress);
  return {reconstruction, nn::psnr(reconstruction, images, /*max_value=*/1), nn::ssim(reconstruction, images),
          perceptual_ == nullptr ? at::Tensor() : perceptual_error(reconstruction, images)};
}

void AutoencoderTask::validate(const Batch& batch, Metrics& metrics) {
  const auto image = image_of(batch);
  const bool fits =
      !validation_windows_.size.empty() || metrics.fits_in_one_pass(nn::windows_in(image, window_));
  const auto judged = judge(image, fits, metrics.progress());
  const auto& reconstruction = judged.reconstruction;
  const auto psnr = judged.psnr.cpu(), ssim = judged.ssim.cpu();
  const auto perceptual = perceptual_ == nullptr ? at::Tensor() : judged.perceptual.cpu();
  for (int64_t row = 0; row < batch.size(); ++row) {
    const auto example = batch.keys[static_cast<size_t>(row)].example;
    const auto one = reconstruction.narrow(0, row, 1);
    const auto target = image.narrow(0, row, 1);
    metrics.value("psnr", example, psnr[row].item<double>());
    metrics.value("ssim", example, ssim[row].item<double>());
    metrics.value("l1", example, (one - target).abs().mean().item<double>());
    auto loss = reconstruction_error(one, target).item<double>();
    if (perceptual.defined()) {
      const auto of_row = perceptual[row].item<double>();
      metrics.value("perceptual", example, of_row);
      loss += config_.perceptual_weight * of_row;
    }
    metrics.value("loss", example, loss);
    if (metrics.shows(example)) show_reconstruction(target[0], one[0], example, metrics);
  }
}

DeclaredFigures AutoencoderTask::figures() const {
  using enum Better;
  return {
      {.name = "loss",
       .better = lower,
       .meaning = "of the reconstruction, with the weighted perceptual term"},
      {.name = "psnr",
       .better = higher,
       .unit = "dB",
       .meaning = "peak signal to noise of the reconstruction"},
      {.name = "ssim", .better = higher, .meaning = "structural similarity of the reconstruction"},
      {.name = "l1", .better = lower, .meaning = "mean absolute error of the reconstruction"},
      {.name = "perceptual", .better = lower, .meaning = "distance in a network's features"},
  };
}

// Padded at the high side to what the network divides by, and cut again.
at::Tensor AutoencoderTask::reconstruct_whole(const at::Tensor& image) {
  return nn::cut_back(
      autoencoder_->reconstruct(nn::padded_to_multiples(image, config_.network.size_divisor())), image);
}

Prediction AutoencoderTask::predict(const Batch& inputs, const PredictionContext& context) {
  const auto image = with_checked_channels(inputs.at("image"));
  const auto output =
      context.fits_in_one_pass(nn::windows_in(image, window_))
          ? reconstruct_whole(image)
          : nn::sliding_window(
                image, window_, window_overlap,
                [this](const at::Tensor& part) { return autoencoder_->reconstruct(part); }, context.progress);
  return {.volumes = {{output_name, context.on_grid_of("image", output[0])}}};
}

}  // namespace larmor::latent_diffusion
