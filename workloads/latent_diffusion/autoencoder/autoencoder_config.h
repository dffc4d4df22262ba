// What the autoencoder stage adds to the config: its networks and its losses.
#pragma once

#include <string>

#include "larmor/config/fields.h"
#include "larmor/nn/networks/autoencoder_kl/autoencoder_kl.h"
#include "larmor/nn/networks/patch_discriminator.h"

namespace larmor::latent_diffusion {

struct AutoencoderConfig {
  nn::AutoencoderKlOptions network;
  std::string weights;  // a safetensors file to start from

  std::string recon_loss = "l1";
  double kl_weight = 1e-7;
  double kl_limit = 1000;
  double perceptual_weight = 1e-3;
  std::string perceptual_network;  // random, a safetensors file, or none
  double perceptual_share = 0.2;
  double adversarial_weight = 0.01;
  int64_t adversarial_start = 6;
  nn::PatchDiscriminatorOptions discriminator;

  void describe_model(Fields& f);
  void describe_loss(Fields& f);
  /// Throws Error (usage).
  void check() const;
  /// Throws Error (data): an image of other channels than the network takes.
  void check_channels(int64_t channels) const;

  bool is_perceptual() const { return !perceptual_network.empty() && perceptual_weight > 0; }
  /// The file of the perceptual network; empty where it is none or drawn.
  std::string perceptual_file() const;
  bool is_adversarial() const { return adversarial_weight > 0; }
};

}  // namespace larmor::latent_diffusion
