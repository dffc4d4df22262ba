// Image metrics with MONAI's definitions (monai.metrics.regression). One value per image of the batch,
// float64, no gradient.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor::nn {

/// 20 log10(max_value) - 10 log10(MSE over channels and space). [N]
at::Tensor psnr(const at::Tensor& prediction, const at::Tensor& target, double max_value);

struct SsimOptions {
  double data_range = 1;
  int64_t window = 11;
  double sigma = 1.5;
  bool gaussian = true;  // false: a uniform window
  double k1 = 0.01, k2 = 0.03;
};
/// Mean structural similarity over the valid windows; 2-D [N, C, H, W] or 3-D [N, C, D, H, W]. [N]
/// Throws Error (data) when an axis is shorter than the window.
at::Tensor ssim(const at::Tensor& prediction, const at::Tensor& target, const SsimOptions& options = {});

}  // namespace larmor::nn
