// Generating one modality: sampling over a whole volume, and what `predict` makes of it.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/nn/diffusion/sampling.h"
#include "larmor/nn/sliding_window.h"
#include "larmor/task/prediction.h"

#include "workloads/fast_ddpm/denoiser/asked_target.h"
#include "workloads/fast_ddpm/denoiser/brain_figures.h"
#include "workloads/fast_ddpm/denoiser/denoiser_task.h"
#include "workloads/fast_ddpm/denoiser/target_choice.h"

namespace larmor::fast_ddpm {
namespace {

constexpr double window_overlap = 0.25;
constexpr double spread_around_guess = 0.35;  // of voxels of a modality in [-1, 1], around a linear guess
constexpr double brightest = 1000;            // of a generated image in a file

bool is_near(const Affine& left, const Affine& right) {
  constexpr double tolerance = 1e-3;  // mm
  for (std::size_t row = 0; row < left.size(); ++row) {
    for (std::size_t column = 0; column < left[row].size(); ++column) {
      if (std::abs(left[row][column] - right[row][column]) > tolerance) return false;
    }
  }
  return true;
}

}  // namespace

at::Tensor DenoiserTask::output_of(const at::Tensor& seen, const at::Tensor& is_target,
                                   const at::Tensor& times) {
  const at::Tensor output = network_->forward(seen, times);
  if (!config_.network.linear_skip) return output;
  const at::Tensor noisy = channel_of(seen, is_target);
  // Outside the head nothing is to be guessed. There are so many voxels of it that a combination which had to
  // serve them as well would fit no brain.
  const at::Tensor outside = background_beside(seen, is_target).to(noisy.scalar_type());
  const at::Tensor guess = network_->linear_guess(seen, is_target) * (1 - outside) + background * outside;
  return nn::preconditioned(output, guess, noisy, schedule_.levels(times, noisy), spread_around_guess);
}

at::Tensor DenoiserTask::output_for(const at::Tensor& image, const at::Tensor& is_target,
                                    const at::Tensor& times, Coverage coverage) {
  const auto of_window = [&](const at::Tensor& part) { return output_of(part, is_target, times); };
  switch (coverage) {
    case Coverage::one_pass:
      return nn::cut_back(of_window(nn::padded_to_multiples(image, config_.network.size_divisor())), image);
    case Coverage::training_windows:
      return nn::sliding_window(image, window_, window_overlap, of_window);
    case Coverage::validation_windows:
      return nn::over_windows(image, validation_windows_, of_window);
  }
  fail(Exit::unexpected, "no way over an image");
}

at::Tensor DenoiserTask::generate(const at::Tensor& image, const at::Tensor& is_target, const Pass& pass) {
  // Noise is drawn for the whole volume, and at every step the windows' predictions are blended before the
  // volume takes the step as one: no window ever goes a way of its own, so that there is no seam to see.
  const auto denoise = [&](const at::Tensor& noisy, const at::Tensor& time) {
    return output_for(with_channel(image, is_target, noisy), is_target, time, pass.coverage)
        .to(noisy.scalar_type());
  };
  const nn::Sampler sampler(schedule_, config_.prediction_type,
                            nn::fast_ddpm_sampler(config_.sampler, config_.eta),
                            nn::sampling_steps(config_.sampled_times()));
  const at::Tensor like = image.narrow(1, 0, 1);
  return nn::mean_of_samples(config_.samples, sampler, like, denoise, pass.progress).clamp(-1, 1);
}

int64_t DenoiserTask::target_of(const Batch& inputs, const PredictionContext& context) const {
  const auto said = context.texts.find(target_input);
  return asked_target(
      config_.modalities, [&](const std::string& name) { return inputs.tensors.contains(name); },
      said == context.texts.end() ? std::nullopt : std::optional(said->second), std::nullopt);
}

at::Tensor DenoiserTask::gathered(const Batch& inputs, const PredictionContext& context) const {
  const InputGrids* first = nullptr;
  std::vector<at::Tensor> channels(config_.modalities.size());
  at::Tensor like;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const auto found = inputs.tensors.find(config_.modalities[i]);
    if (found == inputs.tensors.end()) continue;
    channels[i] = found->second;
    const InputGrids& grids = context.grids.find(config_.modalities[i])->second;
    if (channels[i].size(1) != 1)
      fail(Exit::data, text(config_.modalities[i], " has ", channels[i].size(1), " channels"),
           "give one modality a file");
    if (first == nullptr) {
      first = &grids;
      like = channels[i];
    }
    if (channels[i].sizes() == like.sizes() && is_near(grids.prepared, first->prepared)) continue;
    fail(Exit::data, text(config_.modalities[i], " does not lie on the grid of the other modalities"),
         "register them to one grid first");
  }
  for (at::Tensor& channel : channels) {
    if (!channel.defined()) channel = at::zeros_like(like);
  }
  return at::cat(channels, 1);
}

Prediction DenoiserTask::predict(const Batch& inputs, const PredictionContext& context) {
  const int64_t target = target_of(inputs, context);
  const at::Tensor image = gathered(inputs, context);
  const at::Tensor is_target = same_target(1, config_.channels(), target, image);
  const bool is_one = !config_.always_in_windows && context.fits_in_one_pass(nn::windows_in(image, window_));
  const Pass pass{.coverage = is_one ? Coverage::one_pass : Coverage::training_windows,
                  .progress = context.progress};
  const at::Tensor generated = (generate(image, is_target, pass)[0] + 1) * (brightest / 2);
  const auto given = std::ranges::find_if(
      config_.modalities, [&](const std::string& name) { return context.grids.contains(name); });
  return {.volumes = {{output_name, context.on_grid_of(*given, generated)}}};
}

}  // namespace larmor::fast_ddpm
