#include "workloads/xray_to_ct/data/alignment.h"

#include <cmath>

#include <ATen/ATen.h>

#include "larmor/base/ensure.h"

namespace larmor::xray_to_ct {
namespace {

struct Moments {
  double mean_a, mean_b, variance_a, variance_b, covariance;
};

Moments moments_of(const at::Tensor& first, const at::Tensor& second) {
  ensure(first.sizes() == second.sizes());
  const at::Tensor a = first.to(at::kDouble), b = second.to(at::kDouble);
  const double mean_a = a.mean().item<double>(), mean_b = b.mean().item<double>();
  const at::Tensor from_a = a - mean_a, from_b = b - mean_b;
  return {mean_a, mean_b, from_a.square().mean().item<double>(), from_b.square().mean().item<double>(),
          (from_a * from_b).mean().item<double>()};
}

}  // namespace

double correlation_of(const at::Tensor& a, const at::Tensor& b) {
  const Moments m = moments_of(a, b);
  const double scale = std::sqrt(m.variance_a * m.variance_b);
  return scale > 0 ? m.covariance / scale : 0;
}

double correlation_in_shadow(const at::Tensor& line_integrals, const at::Tensor& radiograph) {
  const at::Tensor shadow = line_integrals.gt(line_integrals.max() / 50);
  if (!shadow.any().item<bool>()) return 0;
  return correlation_of(line_integrals.masked_select(shadow), radiograph.masked_select(shadow));
}

Intensity fitted_intensity(const at::Tensor& line_integrals, const at::Tensor& radiograph) {
  const Moments m = moments_of(line_integrals, radiograph);
  const double scale = m.variance_a > 0 ? m.covariance / m.variance_a : 0;
  return {.scale = scale, .offset = m.mean_b - scale * m.mean_a};
}

}  // namespace larmor::xray_to_ct
