// From one image to another through latents, whatever its size: what does not fit in one pass goes through
// the networks in windows, while noise and steps are those of the whole, so that no seams are left.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/nn/diffusion/sampling.h"

#include "workloads/latent_diffusion/diffusion/latent_space.h"

namespace larmor::latent_diffusion {

/// Borrows the latent space.
class Translation {
 public:
  /// What the U-Net gives for noisy latents [1, C, d, h, w], those of the condition, and times [1].
  using Denoise =
      std::function<at::Tensor(const at::Tensor& x, const at::Tensor& condition, const at::Tensor& times)>;
  /// A latent like `like`, from noise, as a sampler makes it of a denoising function.
  using FromNoise = std::function<at::Tensor(const at::Tensor& like, const nn::DenoisingFunction& denoising)>;

  /// `unet_divisor`: of latent sizes. `window`: voxels an axis of a training crop, which both networks
  /// divide. `fits_in_one_pass`: of PredictionContext.
  Translation(const LatentSpace& latents, int64_t unet_divisor, std::vector<int64_t> window,
              std::function<bool(double)> fits_in_one_pass);

  /// image [1, C, D, H, W] of any size to one of the same size; padded at the high side to what the networks
  /// divide by, and cut again.
  at::Tensor translate(const at::Tensor& image, const Denoise& denoise, const FromNoise& from_noise) const;

 private:
  at::Tensor encoded(const at::Tensor& image, bool whole) const;
  at::Tensor decoded(const at::Tensor& latent, bool whole) const;

  const LatentSpace& latents_;
  const int64_t unet_divisor_;
  const std::vector<int64_t> window_;
  const std::function<bool(double)> fits_in_one_pass_;
};

}  // namespace larmor::latent_diffusion
