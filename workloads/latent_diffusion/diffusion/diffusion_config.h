// What the diffusion stage adds to the config: its network, its noise, what it learns, and how it samples.
#pragma once

#include "larmor/config/fields.h"
#include "larmor/nn/diffusion/noise_schedule.h"
#include "larmor/nn/diffusion/prediction_type.h"
#include "larmor/nn/diffusion/sampler.h"
#include "larmor/nn/diffusion/training_times.h"
#include "larmor/nn/networks/autoencoder_kl/autoencoder_kl.h"
#include "larmor/nn/networks/diffusion_unet/diffusion_unet.h"

namespace larmor::latent_diffusion {

struct DiffusionConfig {
  enum class Condition {
    none,    // images are invented
    concat,  // the latent of "image" joins the noisy latent of "label", channel beside channel
  };
  enum class Scale { global, per_channel };
  enum class Latents {
    encoded,  // at each visit
    kept,     // posteriors of training cases, in the prepared cache
  };

  DiffusionConfig();

  nn::DiffusionUnetOptions network;
  Condition condition = Condition::none;
  Scale scale = Scale::global;
  Latents latents = Latents::encoded;
  nn::NoiseScheduleOptions noise;
  nn::PredictionType prediction_type = nn::PredictionType::epsilon;
  nn::SamplerOptions sampling;

  nn::TrainingTimesOptions times;
  double min_snr_gamma = 0;  // 0: all times count alike

  void describe_model(Fields& f);
  void describe_loss(Fields& f);
  /// Throws Error (usage).
  void check() const;
  /// Throws Error (usage): latents of other channels than the network takes and gives.
  void check_latent(const nn::AutoencoderKlOptions& autoencoder) const;

  /// Throws Error (usage): images are translated in windows of a training crop that move by half of it, and
  /// half of the crop's `latent` sizes is no whole number. `factor`: voxels of an image that a latent's has.
  void check_window(c10::IntArrayRef latent, int64_t factor) const;

  bool is_conditioned() const { return condition == Condition::concat; }
  bool keeps_latents() const { return latents == Latents::kept; }
};

}  // namespace larmor::latent_diffusion
