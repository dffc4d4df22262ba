#include "workloads/xray_to_ct/stage/volume_figures.h"

#include <algorithm>

#include <ATen/ATen.h>

#include "larmor/nn/metrics/image_metrics.h"

namespace larmor::xray_to_ct {
namespace {

constexpr double skin = -300;  // HU
constexpr int64_t largest_window = 11;

/// Between the first and the last voxel of each line along `axis`.
at::Tensor enclosed(const at::Tensor& is_tissue, int64_t axis) {
  const at::Tensor counted = is_tissue.to(at::kInt);
  const at::Tensor before = counted.cumsum(axis), behind = counted.flip({axis}).cumsum(axis).flip({axis});
  return before.gt(0).bitwise_and(behind.gt(0));
}

at::Tensor as_scored(const at::Tensor& volume) {
  return ((volume.to(at::kDouble) + 1) / 2).clamp(0, 1).unsqueeze(0).unsqueeze(0);
}

}  // namespace

at::Tensor body_of(const at::Tensor& hu) {
  const at::Tensor is_tissue = hu.gt(skin);
  const at::Tensor body = enclosed(is_tissue, 0).bitwise_and(enclosed(is_tissue, 2));
  return body.any().item<bool>() ? body : at::ones_like(body);
}

double volume_psnr(const at::Tensor& volume, const at::Tensor& truth) {
  return nn::psnr(as_scored(volume), as_scored(truth), 1).item<double>();
}

double volume_ssim(const at::Tensor& volume, const at::Tensor& truth) {
  const int64_t least = std::min({truth.size(0), truth.size(1), truth.size(2)});
  const int64_t window = std::min(largest_window, least - (least + 1) % 2);
  return nn::ssim(as_scored(volume), as_scored(truth), {.window = window}).item<double>();
}

double mean_correlation(const at::Tensor& images, const at::Tensor& others) {
  const auto centred = [](const at::Tensor& all) {
    const at::Tensor flat = all.to(at::kDouble).flatten(1);
    return flat - flat.mean(1, /*keepdim=*/true);
  };
  const at::Tensor one = centred(images), other = centred(others);
  return ((one * other).sum(1) / (one.square().sum(1) * other.square().sum(1)).sqrt()).mean().item<double>();
}

}  // namespace larmor::xray_to_ct
