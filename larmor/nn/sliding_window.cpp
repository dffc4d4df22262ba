#include "larmor/nn/sliding_window.h"

#include <algorithm>
#include <cassert>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/square.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/heartbeat.h"

namespace larmor::nn {
namespace {

constexpr double sigma_of_size = 0.125;
/// Below this a corner's weight would drown in rounding.
constexpr double least_weight = 1e-3;

/// Where windows start along one axis; the last one is moved back to end at the border.
std::vector<int64_t> window_starts(int64_t size, int64_t window, double overlap) {
  const auto stride = std::max<int64_t>(
      1, size == window ? window : static_cast<int64_t>(static_cast<double>(window) * (1 - overlap)));
  std::vector<int64_t> starts;
  for (int64_t start = 0;; start += stride) {
    starts.push_back(std::min(start, size - window));
    if (start + window >= size) return starts;
  }
}

/// Every combination of one start per axis, the last axis fastest.
std::vector<std::vector<int64_t>> window_corners(at::IntArrayRef sizes, const std::vector<int64_t>& window,
                                                 double overlap) {
  std::vector<std::vector<int64_t>> corners = {{}};
  for (std::size_t axis = 0; axis < window.size(); ++axis) {
    std::vector<std::vector<int64_t>> longer;
    for (const auto& corner : corners) {
      for (const int64_t start : window_starts(sizes[axis], window[axis], overlap)) {
        longer.push_back(corner);
        longer.back().push_back(start);
      }
    }
    corners = std::move(longer);
  }
  return corners;
}

at::Tensor gaussian_weight(const std::vector<int64_t>& window, const at::TensorOptions& options) {
  at::Tensor weight = at::ones({}, options);
  for (const int64_t size : window) {
    const at::Tensor offset = at::arange(size, options) - static_cast<double>(size - 1) / 2;
    weight =
        weight.unsqueeze(-1) * at::exp(at::square(offset / (static_cast<double>(size) * sigma_of_size)) / -2);
  }
  if (weight.is_meta()) return weight;  // it has no least number
  return weight.clamp_min(std::max(weight.min().item<double>(), least_weight));
}

at::Tensor cut(at::Tensor whole, const std::vector<int64_t>& corner, at::IntArrayRef size) {
  for (std::size_t axis = 0; axis < corner.size(); ++axis)
    whole = whole.narrow(static_cast<int64_t>(axis) + 2, corner[axis], size[axis]);
  return whole;
}

void check(const at::Tensor& image, const std::vector<int64_t>& size, double overlap) {
  assert(image.dim() >= 3 && image.size(0) == 1);
  if (static_cast<int64_t>(size.size()) != image.dim() - 2)
    fail(Exit::usage, text("a window with ", size.size(), " axes for an image with ", image.dim() - 2),
         "give one window size for each axis of space");
  if (*std::ranges::min_element(size) < 1)
    fail(Exit::usage, "a window size is smaller than 1 voxel", "give sizes of 1 voxel or more");
  if (!(overlap >= 0 && overlap < 1))
    fail(Exit::usage, text("windows cannot overlap by ", overlap, " of their size"),
         "choose an overlap of 0 or more, below 1");
}

}  // namespace

at::Tensor sliding_window(const at::Tensor& image, const std::vector<int64_t>& size, double overlap,
                          const std::function<at::Tensor(const at::Tensor&)>& predict,
                          const std::function<void(double)>& progress) {
  check(image, size, overlap);
  const at::IntArrayRef space = image.sizes().slice(2);
  std::vector<int64_t> low, pads;  // pads: last axis first, as constant_pad_nd takes them
  for (std::size_t axis = 0; axis < size.size(); ++axis) {
    const int64_t missing = std::max<int64_t>(size[axis] - space[axis], 0);
    low.push_back(missing / 2);
    pads.insert(pads.begin(), {missing / 2, missing - missing / 2});
  }
  const at::Tensor padded = at::constant_pad_nd(image, pads);
  const at::Tensor weight = gaussian_weight(size, image.options());
  auto corners = window_corners(padded.sizes().slice(2), size, overlap);
  // Nothing is computed there: the second window finds all that any later one does.
  constexpr std::size_t enough = 2;
  if (image.is_meta() && corners.size() > enough) corners.resize(enough);

  at::Tensor sum, weights;
  double done = 0;
  for (const auto& corner : corners) {
    const at::Tensor prediction = predict(cut(padded, corner, size));
    assert(prediction.sizes().slice(2) == at::IntArrayRef(size));
    if (!sum.defined()) {
      std::vector<int64_t> shape = padded.sizes().vec();
      weights = at::zeros_like(padded.narrow(1, 0, 1));
      shape[1] = prediction.size(1);
      sum = at::zeros(shape, image.options());
    }
    cut(sum, corner, size).addcmul_(prediction, weight);
    cut(weights, corner, size).add_(weight);
    send_heartbeat();
    if (progress) progress(++done / static_cast<double>(corners.size()));
  }
  return cut(sum.div_(weights), low, space).contiguous();
}

at::Tensor padded_to_multiples(const at::Tensor& image, int64_t divisor) {
  std::vector<int64_t> pads;
  for (int64_t axis = image.dim() - 1; axis >= 2; --axis)
    pads.insert(pads.end(), {0, (divisor - image.size(axis) % divisor) % divisor});
  return at::pad(image, pads, "replicate");
}

at::Tensor cut_back(const at::Tensor& padded, const at::Tensor& image) {
  const auto space = image.sizes().slice(2);
  return cut(padded, std::vector<int64_t>(space.size(), 0), space);
}

double windows_in(const at::Tensor& image, const std::vector<int64_t>& size) {
  double windows = 1;
  for (std::size_t axis = 0; axis < size.size(); ++axis)
    windows *=
        static_cast<double>(image.size(static_cast<int64_t>(axis) + 2)) / static_cast<double>(size[axis]);
  return windows;
}

at::Tensor over_windows(const at::Tensor& images, const Windows& windows,
                        const std::function<at::Tensor(const at::Tensor&)>& predict,
                        const std::function<void(double)>& progress) {
  std::vector<at::Tensor> rows;
  for (int64_t row = 0; row < images.size(0); ++row) {
    const at::Tensor image = images.narrow(0, row, 1);
    const at::Tensor padded = padded_to_multiples(image, windows.divisor);
    check(padded, windows.size, windows.overlap);
    std::vector<int64_t> size = windows.size;
    for (std::size_t axis = 0; axis < size.size(); ++axis)
      size[axis] = std::min(size[axis], padded.size(static_cast<int64_t>(axis) + 2));
    const bool is_one = padded.sizes().slice(2) == at::IntArrayRef(size);
    const at::Tensor whole =
        is_one ? predict(padded) : sliding_window(padded, size, windows.overlap, predict, progress);
    rows.push_back(cut_back(whole, image));
  }
  return at::cat(rows);
}

}  // namespace larmor::nn
