// A volume too large for one pass, window by window.
// Source: monai.inferers.sliding_window_inference (mode "gaussian", sigma_scale 0.125).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace larmor::nn {

/// Windows of `size` voxels an axis, overlapping by the fraction `overlap` of their size, blended with a
/// Gaussian weight. image [1, C, D, H, W] or [1, C, H, W]; axes shorter than the window are padded with zeros
/// at both ends, and cut again. `predict` keeps the spatial size and may change the channels; `progress` gets
/// the share done, and whoever watches a heartbeat, after each window. Throws Error (usage) when sizes or
/// overlap make no sense.
at::Tensor sliding_window(const at::Tensor& image, const std::vector<int64_t>& size, double overlap,
                          const std::function<at::Tensor(const at::Tensor&)>& predict,
                          const std::function<void(double)>& progress = {});

}  // namespace larmor::nn
