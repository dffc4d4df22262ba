// The autoencoder of this folder's tests: two levels of a few channels, for volumes of one channel.
#pragma once

#include "workloads/latent_diffusion/autoencoder/autoencoder_config.h"

namespace larmor::latent_diffusion {

inline AutoencoderConfig small_autoencoder() {
  AutoencoderConfig config;
  config.network.channels = {4, 8};
  config.network.num_res_blocks = {1};
  config.network.attention_levels = {false, false};
  config.network.norm_num_groups = 4;
  config.network.latent_channels = 2;
  config.adversarial_weight = 0;
  return config;
}

}  // namespace larmor::latent_diffusion
