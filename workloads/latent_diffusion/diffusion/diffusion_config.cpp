#include "workloads/latent_diffusion/diffusion/diffusion_config.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::latent_diffusion {

// Scaled latents have a standard deviation of one: most of them would be cut off at 1.
DiffusionConfig::DiffusionConfig() { sampling.clipping.clip_sample = false; }

void DiffusionConfig::describe_model(Fields& f) {
  network.describe(f);
  f.choice("condition", condition, {{"none", Condition::none}, {"concat", Condition::concat}},
           "none: images are invented; concat: the latent of the image joins the noisy one of the label");
  f.choice("scale_factor", scale, {{"global", Scale::global}, {"per_channel", Scale::per_channel}},
           "latents are divided by one standard deviation, or by one a channel");
  f.choice(
      "latents", latents, {{"encoded", Latents::encoded}, {"kept", Latents::kept}},
      "encoded: training images go through the autoencoder at each visit; kept: once, and what it makes of "
      "them is kept in the prepared cache; wants data.transforms without random steps");
  f.section("noise", [this](Fields& inner) { noise.describe(inner); });
  nn::describe(f, prediction_type);
  f.section("sampling", [this](Fields& inner) { sampling.describe(inner); });
}

void DiffusionConfig::describe_loss(Fields& f) {
  times.describe(f);
  f.field("min_snr_gamma", min_snr_gamma,
          "errors count as min(signal-to-noise ratio, this) of the image's; 0: all times alike",
          at_least_zero);
}

void DiffusionConfig::check() const {
  network.check();
  const nn::NoiseSchedule schedule(noise);
  nn::check(prediction_type, schedule);
  times.check(schedule);
  sampling.check(schedule);
  if (network.with_conditioning)
    fail(Exit::usage, "model.with_conditioning wants a context to attend to, and this stage has none",
         "leave it at false; model.condition=concat brings an image along");
}

void DiffusionConfig::check_latent(const nn::AutoencoderKlOptions& autoencoder) const {
  const int64_t latent = autoencoder.latent_channels;
  const int64_t in = is_conditioned() ? 2 * latent : latent;
  if (network.in_channels == in && network.out_channels == latent) return;
  fail(Exit::usage,
       text("from.autoencoder has latents of ", latent, " channels, and this network goes from ",
            network.in_channels, " to ", network.out_channels),
       text("set model.in_channels=", in, " model.out_channels=", latent, ", or give another autoencoder"));
}

void DiffusionConfig::check_window(c10::IntArrayRef latent, int64_t factor) const {
  if (!is_conditioned()) return;
  for (const int64_t size : latent) {
    if (size % 2 == 0) continue;
    fail(Exit::usage,
         text("a training crop of ", size * factor, " voxels is ", size,
              " voxels of a latent, and images are translated in windows that move by half of it"),
         text("let data.transforms crop to a multiple of ", 2 * factor, " voxels"));
  }
}

}  // namespace larmor::latent_diffusion
