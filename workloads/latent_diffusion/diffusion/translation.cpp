#include "workloads/latent_diffusion/diffusion/translation.h"

#include <utility>

#include <ATen/ATen.h>

#include "larmor/nn/sliding_window.h"

namespace larmor::latent_diffusion {

namespace {

/// Windows start at multiples of half their size, where the voxels of latents begin as well.
constexpr double overlap = 0.5;

/// Each voxel repeated `times` times along each axis of space, and every one of so many.
at::Tensor enlarged(const at::Tensor& volume, int64_t times) {
  at::Tensor result = volume;
  for (int64_t axis = 2; axis < 5; ++axis) result = result.repeat_interleave(times, axis);
  return result;
}
at::Tensor thinned(const at::Tensor& volume, int64_t times) {
  at::Tensor result = volume;
  for (int64_t axis = 2; axis < 5; ++axis) result = result.slice(axis, 0, result.size(axis), times);
  return result.contiguous();
}

}  // namespace

Translation::Translation(const LatentSpace& latents, int64_t unet_divisor, std::vector<int64_t> window,
                         std::function<bool(double)> fits_in_one_pass)
    : latents_(latents),
      unet_divisor_(unet_divisor),
      window_(std::move(window)),
      fits_in_one_pass_(std::move(fits_in_one_pass)) {}

// A window keeps its size on its way through sliding_window(): a latent voxel fills the voxels it stands for.
at::Tensor Translation::encoded(const at::Tensor& image, bool whole) const {
  if (whole) return latents_.mean(image);
  const int64_t factor = latents_.options().size_divisor();
  return thinned(
      nn::sliding_window(image, window_, overlap,
                         [&](const at::Tensor& part) { return enlarged(latents_.mean(part), factor); }),
      factor);
}

at::Tensor Translation::decoded(const at::Tensor& latent, bool whole) const {
  if (whole) return latents_.decoded(latent);
  const int64_t factor = latents_.options().size_divisor();
  return nn::sliding_window(enlarged(latent, factor), window_, overlap,
                            [&](const at::Tensor& part) { return latents_.decoded(thinned(part, factor)); });
}

at::Tensor Translation::translate(const at::Tensor& image, const Denoise& denoise,
                                  const FromNoise& from_noise) const {
  const int64_t factor = latents_.options().size_divisor();
  const at::Tensor padded = nn::padded_to_multiples(image, factor * unet_divisor_);
  const bool whole = fits_in_one_pass_(nn::windows_in(padded, window_));
  const at::Tensor condition = encoded(padded, whole);

  std::vector<int64_t> latent_window;
  for (const auto size : window_) latent_window.push_back(size / factor);
  const auto denoising = [&](const at::Tensor& x, const at::Tensor& times) {
    if (whole) return denoise(x, condition, times);
    const int64_t channels = x.size(1);
    return nn::sliding_window(
        at::cat({x, condition}, 1), latent_window, overlap, [&](const at::Tensor& part) {
          return denoise(part.narrow(1, 0, channels), part.narrow(1, channels, condition.size(1)), times);
        });
  };
  return nn::cut_back(decoded(from_noise(condition, denoising), whole), image);
}

}  // namespace larmor::latent_diffusion
