#include "workloads/latent_diffusion/autoencoder/autoencoder_config.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::latent_diffusion {

void AutoencoderConfig::describe_model(Fields& f) {
  network.describe(f);
  f.path("weights", weights, "safetensors file of an AutoencoderKL to start from; empty: a new one");
}

void AutoencoderConfig::describe_loss(Fields& f) {
  f.word("recon_loss", recon_loss, {"l1", "l2"}, "reconstruction term: mean absolute or mean squared error");
  f.field("kl_weight", kl_weight, "weight of the Kullback-Leibler term", at_least_zero);
  f.field("kl_limit", kl_limit,
          "each sample's Kullback-Leibler term is clamped to this; 0: the plain formula", at_least_zero);
  f.field(
      "perceptual_network", perceptual_network,
      "whose maps LPIPS compares: a safetensors file of torchvision's squeezenet1_1, or random: one that is "
      "drawn, always the same; empty: no perceptual term");
  f.field("perceptual_weight", perceptual_weight, "weight of LPIPS over slices, where there is a network",
          at_least_zero);
  f.field("perceptual_share", perceptual_share, "share of an axis' slices that a step compares", fraction);
  f.field("adversarial_weight", adversarial_weight, "weight of the adversarial term; 0: no discriminator",
          at_least_zero);
  f.field("adversarial_start", adversarial_start, "completed epochs after which the adversarial phase begins",
          at_least_zero);
  f.section("discriminator", [this](Fields& inner) {
    inner.field("channels", discriminator.channels, "channels of its first layer", at_least_one);
    inner.field("num_layers_d", discriminator.num_layers_d, "its strided layers", at_least_one);
  });
}

std::string AutoencoderConfig::perceptual_file() const {
  return is_perceptual() && perceptual_network != "random" ? perceptual_network : "";
}

void AutoencoderConfig::check() const {
  network.check();
  if (is_adversarial()) discriminator.check();
}

void AutoencoderConfig::check_channels(int64_t channels) const {
  if (channels == network.in_channels) return;
  fail(Exit::data, text("an image has ", channels, " channels, and this network takes ", network.in_channels),
       text("train one with model.in_channels=", channels, " model.out_channels=", channels));
}

}  // namespace larmor::latent_diffusion
