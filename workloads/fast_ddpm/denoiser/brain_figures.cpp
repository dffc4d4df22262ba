#include "workloads/fast_ddpm/denoiser/brain_figures.h"

#include <cmath>

#include <ATen/ATen.h>

#include "larmor/nn/metrics/image_metrics.h"

namespace larmor::fast_ddpm {
namespace {

constexpr double background = -1, above_background = 1e-3;

at::Tensor from_zero_to_one(const at::Tensor& volume) {
  return ((volume.to(at::kDouble) + 1) / 2).clamp(0, 1);
}

}  // namespace

at::Tensor brain_of(const at::Tensor& image) {
  at::Tensor brain = image.gt(background + above_background).any(0);
  return brain.any().item<bool>() ? brain : at::ones_like(brain);
}

double psnr_of_error(double mean_squared_error) { return -10 * std::log10(mean_squared_error); }

BrainFigures brain_figures(const at::Tensor& generated, const at::Tensor& truth, const at::Tensor& brain) {
  const at::Tensor ours = from_zero_to_one(generated), theirs = from_zero_to_one(truth);
  const auto as_batch = [](const at::Tensor& volume) { return volume.unsqueeze(0).unsqueeze(0); };
  const at::Tensor error = at::masked_select(ours - theirs, brain);
  return {{{"psnr", nn::psnr(as_batch(ours), as_batch(theirs), 1).item<double>()},
           {"ssim", nn::ssim(as_batch(ours), as_batch(theirs)).item<double>()},
           {"mae_brain", error.abs().mean().item<double>()},
           {"psnr_brain", psnr_of_error(error.square().mean().item<double>())}}};
}

}  // namespace larmor::fast_ddpm
