#include "workloads/fast_ddpm/denoiser/brain_figures.h"

#include <cmath>

#include <ATen/ATen.h>

#include "larmor/nn/metrics/image_metrics.h"

namespace larmor::fast_ddpm {
namespace {

constexpr double above_background = 1e-3;

/// [D, H, W] to [slices, 1, D, H]: those across the last axis that show brain.
at::Tensor slices_of(const at::Tensor& volume, const at::Tensor& brain) {
  return volume.index({at::Tensor(), at::Tensor(), brain.any(0).any(0)}).permute({2, 0, 1}).unsqueeze(1);
}

at::Tensor from_zero_to_one(const at::Tensor& volume) {
  return ((volume.to(at::kDouble) + 1) / 2).clamp(0, 1);
}

}  // namespace

at::Tensor brain_of(const at::Tensor& image) {
  at::Tensor brain = image.gt(background + above_background).any(0);
  return brain.any().item<bool>() ? brain : at::ones_like(brain);
}

at::Tensor background_beside(const at::Tensor& image, const at::Tensor& is_target) {
  const at::Tensor target = is_target.unflatten(1, {-1, 1, 1, 1});
  const at::Tensor shows_background =
      image.le(background + above_background).bitwise_and(target.bitwise_not());
  const at::Tensor says_nothing = image.eq(0).bitwise_or(target);
  return shows_background.bitwise_or(says_nothing)
      .all(1, /*keepdim=*/true)
      .bitwise_and(shows_background.any(1, /*keepdim=*/true));
}

double psnr_inside(const at::Tensor& generated, const at::Tensor& truth, const at::Tensor& brain) {
  const at::Tensor error = at::masked_select(from_zero_to_one(generated) - from_zero_to_one(truth), brain);
  return -10 * std::log10(error.square().mean().item<double>());
}

BrainFigures brain_figures(const at::Tensor& generated, const at::Tensor& truth, const at::Tensor& brain) {
  const at::Tensor ours = from_zero_to_one(generated), theirs = from_zero_to_one(truth);
  const auto as_batch = [](const at::Tensor& volume) { return volume.unsqueeze(0).unsqueeze(0); };
  const at::Tensor error = at::masked_select(ours - theirs, brain);
  const at::Tensor our_slices = slices_of(ours, brain), their_slices = slices_of(theirs, brain);
  const nn::SsimOptions of_slices{.window = 7, .gaussian = false};
  return {{{"psnr", nn::psnr(as_batch(ours), as_batch(theirs), 1).item<double>()},
           {"ssim", nn::ssim(as_batch(ours), as_batch(theirs)).item<double>()},
           {"mae_brain", error.abs().mean().item<double>()},
           {"psnr_brain", psnr_inside(generated, truth, brain)},
           {"psnr_slices", nn::psnr(our_slices, their_slices, 1).mean().item<double>()},
           {"ssim_slices", nn::ssim(our_slices, their_slices, of_slices).mean().item<double>()}}};
}

}  // namespace larmor::fast_ddpm
