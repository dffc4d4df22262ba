#include "workloads/fast_ddpm/denoiser/denoiser_task.h"

#include <map>
#include <optional>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/text.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/module_state.h"
#include "larmor/device/tensors/weights_file.h"
#include "larmor/kernels/draw/draw.h"
#include "larmor/nn/diffusion/training_times.h"
#include "larmor/nn/sliding_window.h"

#include "workloads/fast_ddpm/denoiser/brain_figures.h"
#include "workloads/fast_ddpm/denoiser/generated_picture.h"
#include "workloads/fast_ddpm/denoiser/linear_fit.h"
#include "workloads/fast_ddpm/denoiser/target_choice.h"

namespace larmor::fast_ddpm {
namespace {

// Adam moves a weight by about the learning rate a step, whatever its gradient is: a few numbers between -1
// and 1 would take a thousand steps to where the best fit is, and the network would learn to make up for
// them.
constexpr double linear_skip_rate = 10;

/// Draws of one row of a batch, whatever batch it is in, for one of its targets: those of others are others.
DrawPosition draws_of(const ExampleKey& row, int64_t target) {
  constexpr uint64_t apart = 0x9e3779b97f4a7c15;
  return {.seed = row.seed ^ (apart * static_cast<uint64_t>(target + 1)),
          .epochs = {row.epoch},
          .examples = {row.example}};
}

}  // namespace

DenoiserTask::DenoiserTask(const DenoiserConfig& config, uint64_t seed, std::vector<int64_t> window,
                           c10::Device device, const ValidationConfig& validation)
    : config_(config),
      window_(std::move(window)),
      times_(at::tensor(config.times(), at::kLong)),
      validation_windows_{.size = validation.roi_size,
                          .overlap = validation.overlap,
                          .divisor = config.network.size_divisor()},
      schedule_(config.noise) {
  const SeededInitialisation initialisation(seed);
  network_ = nn::FastDdpmUnet(config.network, device);
}

std::vector<Objective> DenoiserTask::objectives() {
  Objective denoiser{.name = "denoiser", .network = network_.get()};
  if (config_.network.linear_skip) denoiser.rules = {{.prefix = "skip.", .rate = linear_skip_rate}};
  return {denoiser};
}

void DenoiserTask::start() {
  if (!config_.weights.empty()) load_state_dict(*network_, read_published_weights(config_.weights));
}

at::Tensor DenoiserTask::present_in(const Batch& batch) const {
  const auto found = batch.tensors.find("present");
  if (found != batch.tensors.end()) return found->second;
  const at::Tensor& image = batch.at("image");
  return at::ones({image.size(0), image.size(1)}, image.options().dtype(at::kBool));
}

at::Tensor DenoiserTask::denoising_error(const at::Tensor& image, const at::Tensor& is_target,
                                         const at::Tensor& times, Coverage coverage) {
  const at::Tensor clean = channel_of(image, is_target);
  const at::Tensor noise = draw_normal_like(clean, "noise");
  const at::Tensor noisy = schedule_.add_noise(clean, noise, times);
  const at::Tensor wanted =
      nn::target(config_.prediction_type, {.x0 = clean, .epsilon = noise}, schedule_.levels(times, clean));
  const at::Tensor seen = with_channel(image, is_target, noisy);
  if (coverage == Coverage::one_pass) return at::mse_loss(output_of(seen, is_target, times), wanted);
  return at::mse_loss(output_for(seen, is_target, times, coverage).to(wanted.scalar_type()), wanted);
}

DenoiserTask::Coverage DenoiserTask::coverage_to_judge(const at::Tensor& image,
                                                       const Metrics& metrics) const {
  if (judges_whole_cases()) return Coverage::validation_windows;
  return metrics.fits_in_one_pass(nn::windows_in(image, window_)) ? Coverage::one_pass
                                                                  : Coverage::training_windows;
}

at::Tensor DenoiserTask::validation_error(const at::Tensor& image, int64_t target, Coverage coverage) {
  const at::Tensor times = times_.host().index_select(0, draw_integers(times_.host().size(0), "time"));
  return denoising_error(image, same_target(1, config_.channels(), target, image), times, coverage);
}

std::vector<at::Tensor> DenoiserTask::losses(const Batch& batch, const StepContext& context) {
  const at::Tensor& image = batch.at("image");
  const c10::Device device = nn::device_of_times(image);
  const at::Tensor times =
      times_.on(device, at::kLong).index_select(0, draw_antithetic(times_.host().size(0), "time", device));
  const at::Tensor loss = denoising_error(image, draw_targets(present_in(batch)), times);
  context.record("loss", loss);
  return {loss};
}

void DenoiserTask::validate(const Batch& batch, Metrics& metrics) {
  const at::Tensor& images = batch.at("image");
  const at::Tensor present = present_in(batch).cpu();
  for (int64_t row = 0; row < batch.size(); ++row) {
    const ExampleKey& key = batch.keys[static_cast<std::size_t>(row)];
    const at::Tensor image = images.narrow(0, row, 1);
    if (metrics.of_reference()) {
      if (present[row].all().item<bool>())
        note_products(channel_products(image[0], brain_of(image[0])), key.example, metrics);
      continue;
    }
    const Coverage coverage = coverage_to_judge(image, metrics);
    double sum = 0;
    int64_t count = 0;
    for (int64_t target = 0; target < config_.channels(); ++target) {
      if (!present[row][target].item<bool>()) continue;
      const DrawScope draws(draws_of(key, target));
      sum += validation_error(image, target, coverage).item<double>();
      ++count;
    }
    metrics.value("loss", key.example, sum / static_cast<double>(count));
    judge(image, present[row], key, metrics);
  }
}

at::Tensor DenoiserTask::generate_to_judge(const at::Tensor& image, int64_t target, Pass pass) {
  if (pass.coverage == Coverage::one_pass && config_.always_in_windows)
    pass.coverage = Coverage::training_windows;
  return generate(image, same_target(1, config_.channels(), target, image), pass);
}

void DenoiserTask::count_judgement(const at::Tensor& image) {
  const DrawScope draws(draws_of({}, /*target=*/0));
  const Coverage coverage = judges_whole_cases() ? Coverage::validation_windows : Coverage::one_pass;
  validation_error(image, /*target=*/0, coverage);
  generate_to_judge(image, /*target=*/0, {.coverage = coverage});
}

void DenoiserTask::judge(const at::Tensor& image, const at::Tensor& present, const ExampleKey& key,
                         Metrics& metrics) {
  const bool is_full = metrics.depth() == ValidationDepth::full;
  const auto place = metrics.shown_as(key.example);
  // While a run trains, one modality of each of two cases is enough; another one for the second.
  constexpr int64_t most_shown = 2;
  const bool is_shown = place && (is_full || *place < most_shown);
  if (!is_full && !is_shown) return;
  const int64_t alone = is_full ? -1 : shown_target(present, *place);
  const at::Tensor brain = brain_of(image[0]);
  const bool is_whole = present.all().item<bool>();
  const auto training = is_whole ? noted_products(metrics.reference(), config_.channels()) : std::nullopt;
  const Pass pass{.coverage = coverage_to_judge(image, metrics), .progress = metrics.progress()};
  std::map<std::string, std::vector<double>> figures;
  for (int64_t target = 0; target < config_.channels(); ++target) {
    if (!present[target].item<bool>() || (!is_full && target != alone)) continue;
    const std::string& modality = config_.modalities[static_cast<std::size_t>(target)];
    const DrawScope draws(draws_of(key, target));
    const at::Tensor generated = generate_to_judge(image, target, pass)[0][0];
    const at::Tensor truth = image[0][target];
    if (is_shown)
      show_generated(is_full ? modality : "generated",
                     {.image = image[0], .present = present, .generated = generated, .target = target},
                     config_.modalities, key.example, metrics);
    if (!is_full) break;
    const auto record = [&](const char* name, double value) {
      figures[name].push_back(value);
      metrics.note(text(name, " ", modality), key.example, value);
    };
    for (const auto& [name, value] : brain_figures(generated, truth, brain)) record(name, value);
    if (training)
      record(linear_fit_figure, psnr_inside(fitted(image[0], linear_fit(*training, target)), truth, brain));
  }
  for (const auto& [name, values] : figures) {
    double sum = 0;
    for (const double value : values) sum += value;
    metrics.value(name, key.example, sum / static_cast<double>(values.size()));
  }
}

}  // namespace larmor::fast_ddpm
