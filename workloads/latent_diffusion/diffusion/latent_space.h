// The latents of a trained autoencoder, which learns nothing any more: images into it, and out of it again.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "larmor/task/task.h"

#include "workloads/latent_diffusion/autoencoder/autoencoder_task.h"

namespace larmor::latent_diffusion {

/// One thread. All of it is without gradient; latents are typed as images. On c10::kMeta latents have shapes
/// alone, and the autoencoder is not asked.
class LatentSpace {
 public:
  /// `autoencoder` is an AutoencoderTask.
  explicit LatentSpace(std::unique_ptr<Task> autoencoder);

  /// The network, for Task::companions().
  torch::nn::Module* network() const { return autoencoder().network().ptr().get(); }
  /// What the autoencoder takes of a batch: its image, or both scans of a pair.
  at::Tensor image_of(const Batch& batch) const { return autoencoder().image_of(batch); }
  const nn::AutoencoderKlOptions& options() const { return autoencoder().options(); }

  /// [N, 2 latent channels, d, h, w] of image [N, C, D, H, W]: means, then standard deviations.
  at::Tensor posterior(const at::Tensor& image) const;
  /// [N, latent channels, d, h, w] drawn from posteriors for `purpose`.
  static at::Tensor drawn(const at::Tensor& posterior, std::string_view purpose);
  at::Tensor sampled(const at::Tensor& image, std::string_view purpose) const {
    return drawn(posterior(image), purpose);
  }
  /// The mean of the posterior.
  at::Tensor mean(const at::Tensor& image) const;
  at::Tensor decoded(const at::Tensor& latent) const;

 private:
  const AutoencoderTask& autoencoder() const;

  std::unique_ptr<Task> task_;
};

}  // namespace larmor::latent_diffusion
