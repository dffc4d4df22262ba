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

/// The windows in which a network goes over an image, and how their results are joined.
struct Windows {
  std::vector<int64_t> size;  // voxels an axis, each a multiple of `divisor`
  double overlap = 0.25;
  int64_t divisor = 1;  // of the sizes that the network takes
};

/// One network over whole images [N, C, D, H, W], row by row: each is padded at the high side with its last
/// voxels to sizes that the network takes, goes through sliding_window(), and is cut again. Windows are never
/// longer than the padded image; where one holds all of it the result is that of one pass, to the last bit.
/// On the meta device two windows stand for all. `progress` gets the share of a row that is done.
at::Tensor over_windows(const at::Tensor& images, const Windows& windows,
                        const std::function<at::Tensor(const at::Tensor&)>& predict,
                        const std::function<void(double)>& progress = {});

/// The first step of it: an image that the network takes in one pass.
at::Tensor padded_to_multiples(const at::Tensor& image, int64_t divisor);
/// The last: `padded`, or what became of it, as long as `image` along each axis of space.
at::Tensor cut_back(const at::Tensor& padded, const at::Tensor& image);

/// The size of an image [N, C, D, H, W] in windows of `size` voxels an axis.
double windows_in(const at::Tensor& image, const std::vector<int64_t>& size);

}  // namespace larmor::nn
