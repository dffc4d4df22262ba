// A volume too large for one pass, window by window. Source: monai.inferers.sliding_window_inference.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace larmor::nn {

/// Windows of `size` voxels an axis (smaller axes are padded at the high side, and cut again), overlapping
/// by `overlap` of their size, blended with a Gaussian weight. image [1, C, D, H, W]; `progress` gets the
/// share done.
at::Tensor sliding_window(const at::Tensor& image, const std::vector<int64_t>& size, double overlap,
                          const std::function<at::Tensor(const at::Tensor&)>& predict,
                          const std::function<void(double)>& progress = {});

}  // namespace larmor::nn
