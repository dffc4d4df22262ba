// Keeping a predicted x0 in the range of images while it is sampled.
// Sources: clip_sample of monai.networks.schedulers, _threshold_sample of diffusers (Imagen, section 2.3).
#pragma once

#include <ATen/core/Tensor.h>

#include "larmor/config/fields.h"

namespace larmor::nn {

/// Diffusers' names.
struct ClippingOptions {
  bool clip_sample = true;
  double clip_sample_range = 1;
  bool thresholding = false;  // dynamic; takes the place of clip_sample
  double dynamic_thresholding_ratio = 0.995;
  double sample_max_value = 1;

  void describe(Fields& f);
  /// Throws Error (usage).
  void check() const;
};

/// x0 [N, …] clamped to [-clip_sample_range, clip_sample_range], or as it is. With thresholding each row is
/// clamped to a quantile of its absolute values, where that lies in [1, sample_max_value], and divided by it.
at::Tensor clipped(const at::Tensor& x0, const ClippingOptions& options);

}  // namespace larmor::nn
