// What the denoiser adds to the config: its network, the noise, and how it is sampled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "larmor/config/fields.h"
#include "larmor/nn/diffusion/noise_schedule.h"
#include "larmor/nn/diffusion/prediction_type.h"
#include "larmor/nn/diffusion/sampler.h"
#include "larmor/nn/diffusion/timesteps.h"
#include "larmor/nn/networks/fast_ddpm_unet.h"

namespace larmor::fast_ddpm {

struct DenoiserConfig {
  nn::FastDdpmUnetOptions network;
  std::vector<std::string> modalities = {"t1n", "t1c", "t2w", "t2f"};  // the channels, in this order
  std::string weights;                                                 // a safetensors file to start from
  nn::NoiseScheduleOptions noise{.schedule = nn::NoiseScheduleOptions::Kind::linear,
                                 .num_train_timesteps = 1000,
                                 .beta_start = 1e-4,
                                 .beta_end = 0.02};
  nn::PredictionType prediction_type = nn::PredictionType::epsilon;
  // The short list of times, in training and in sampling, and how it is sampled.
  int64_t timesteps = 10;
  nn::FastDdpmTimesteps scheduler_type = nn::FastDdpmTimesteps::uniform;
  nn::FastDdpmSampler sampler = nn::FastDdpmSampler::generalized;
  double eta = 0;
  /// How many times of the list sampling visits; 0: all.
  int64_t steps = 0;
  /// How many images are sampled for one, which is their mean.
  int64_t samples = 1;
  /// Images are gone over in windows of a training example's size, whether they fit in one pass or not: norms
  /// then see as much at once as in training.
  bool always_in_windows = false;
  /// How many training cases the linear fit is made on, by which the model is judged.
  int64_t baseline_cases = 16;

  void describe_model(Fields& f);
  void describe_loss(Fields& f);
  /// Throws Error (usage).
  void check() const;

  int64_t channels() const { return static_cast<int64_t>(modalities.size()); }
  /// Ascending. Throws Error (usage): more than the schedule has.
  std::vector<int64_t> times() const;
  /// Descending from the noisiest of them.
  std::vector<double> sampled_times() const;
};

}  // namespace larmor::fast_ddpm
