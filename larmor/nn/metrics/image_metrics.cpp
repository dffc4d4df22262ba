#include "larmor/nn/metrics/image_metrics.h"

#include <cassert>
#include <cmath>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log10.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/square.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::nn {
namespace {

constexpr const char* axis_names[] = {"D", "H", "W"};

at::Tensor window_weights(const SsimOptions& options) {
  const auto float64 = at::TensorOptions().dtype(at::kDouble);
  if (!options.gaussian) return at::full(options.window, 1.0 / static_cast<double>(options.window), float64);
  const at::Tensor offset = at::arange(options.window, float64) - static_cast<double>(options.window - 1) / 2;
  const at::Tensor weights = at::exp(at::square(offset / options.sigma) / -2);
  return weights / weights.sum();
}

/// The filter along one axis as a matrix [size - window + 1, size]: a product with it is far faster in
/// float64 than a convolution, which oneDNN does not offer there.
at::Tensor filter_matrix(const at::Tensor& weights, int64_t size) {
  const int64_t window = weights.size(0), valid = size - window + 1;
  at::Tensor matrix = at::zeros({valid, size}, weights.options());
  // Row i holds the weights from column i on: a diagonal stripe.
  matrix.as_strided({valid, window}, {size + 1, 1}).copy_(weights.expand({valid, window}));
  return matrix;
}

/// Filters the last axes, one after the other, without padding.
class ValidFilter {
 public:
  ValidFilter(const SsimOptions& options, const at::Tensor& image) {
    const at::Tensor weights = window_weights(options).to(image.device());
    for (int64_t axis = 2; axis < image.dim(); ++axis) {
      if (image.size(axis) < options.window)
        fail(Exit::data,
             text("SSIM needs ", options.window, " voxels an axis, and ", axis_names[axis + 3 - image.dim()],
                  " has ", image.size(axis)),
             "evaluate larger images, or leave SSIM out");
      matrices_.push_back(filter_matrix(weights, image.size(axis)));
    }
  }

  at::Tensor operator()(const at::Tensor& image) const {
    at::Tensor value = at::matmul(image, matrices_.back().t());
    value = at::matmul(matrices_[matrices_.size() - 2], value);
    if (matrices_.size() == 2) return value;
    const int64_t rows = value.size(3), columns = value.size(4);
    return at::matmul(matrices_.front(), value.flatten(3)).unflatten(3, {rows, columns});
  }

 private:
  std::vector<at::Tensor> matrices_;
};

}  // namespace

at::Tensor psnr(const at::Tensor& prediction, const at::Tensor& target, double max_value) {
  assert(prediction.sizes() == target.sizes());
  const c10::NoGradGuard no_graph;
  const at::Tensor error = at::square(prediction.to(at::kDouble) - target.to(at::kDouble)).flatten(1).mean(1);
  return 20 * std::log10(max_value) - 10 * at::log10(error);
}

at::Tensor ssim(const at::Tensor& prediction, const at::Tensor& target, const SsimOptions& options) {
  assert(prediction.sizes() == target.sizes() && (target.dim() == 4 || target.dim() == 5));
  const c10::NoGradGuard no_graph;
  const at::Tensor x = prediction.to(at::kDouble), y = target.to(at::kDouble);
  const ValidFilter filter(options, y);
  const double c1 = std::pow(options.k1 * options.data_range, 2),
               c2 = std::pow(options.k2 * options.data_range, 2);
  const at::Tensor mean_x = filter(x), mean_y = filter(y);
  const at::Tensor variance_x = filter(at::square(x)) - at::square(mean_x);
  const at::Tensor variance_y = filter(at::square(y)) - at::square(mean_y);
  const at::Tensor covariance = filter(x * y) - mean_x * mean_y;
  const at::Tensor structure = (2 * covariance + c2) / (variance_x + variance_y + c2);
  const at::Tensor luminance = (2 * mean_x * mean_y + c1) / (at::square(mean_x) + at::square(mean_y) + c1);
  return (luminance * structure).flatten(1).mean(1);
}

}  // namespace larmor::nn
