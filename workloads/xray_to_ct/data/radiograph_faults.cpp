#include "workloads/xray_to_ct/data/radiograph_faults.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <ATen/ATen.h>

namespace larmor::xray_to_ct {
namespace {

/// A mean over a square of about a quarter of the image, twice: wide and without edges of its own.
at::Tensor blurred(const at::Tensor& image) {
  const int64_t radius = std::max<int64_t>(image.size(0) / 8, 1), window = 2 * radius + 1;
  at::Tensor wide = image.view({1, 1, image.size(0), image.size(1)});
  for (int pass = 0; pass < 2; ++pass) {
    wide = at::avg_pool2d(wide, {window, window}, {1, 1}, {radius, radius}, /*ceil_mode=*/false,
                          /*count_include_pad=*/false);
  }
  return wide.view(image.sizes());
}

void blacken_edges(at::Tensor& image, const std::array<double, 4>& shares) {
  for (int64_t axis = 0; axis < 2; ++axis) {
    const int64_t size = image.size(axis);
    const auto first =
        static_cast<int64_t>(shares[static_cast<size_t>(2 * axis)] * static_cast<double>(size));
    const auto last =
        static_cast<int64_t>(shares[static_cast<size_t>(2 * axis + 1)] * static_cast<double>(size));
    image.slice(axis, 0, first).zero_();
    image.slice(axis, size - last, size).zero_();
  }
}

}  // namespace

at::Tensor with_faults(const at::Tensor& radiograph, double strength, Draws& draws, Key noise) {
  const double scatter = 0.5 * strength * draws.uniform(), grain = 0.05 * strength * draws.uniform();
  const double gamma = std::pow(1.7, strength * (2 * draws.uniform() - 1));
  std::array<double, 4> edges{};
  // Half of the sides stay open.
  for (double& edge : edges) edge = 0.125 * strength * std::max(0.0, 2 * draws.uniform() - 1);
  if (strength == 0) return radiograph;
  at::Tensor image = (radiograph + 1) / 2;
  image = image * (1 - scatter) + blurred(image) * scatter;
  at::Tensor numbers = at::empty_like(image, at::MemoryFormat::Contiguous);
  fill_normal(noise,
              std::span<float>(numbers.mutable_data_ptr<float>(), static_cast<size_t>(numbers.numel())));
  // Where much is absorbed few photons arrive.
  image = (image + grain * (0.3 + image) * numbers).clamp(0, 1).pow(gamma);
  blacken_edges(image, edges);
  return image * 2 - 1;
}

}  // namespace larmor::xray_to_ct
