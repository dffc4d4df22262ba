#include "larmor/nn/losses/losses.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/log.h>
#include <ATen/ops/square.h>
#include <c10/core/ScalarType.h>

namespace larmor::nn {
namespace {

constexpr double least_sigma = 1e-8;
constexpr double logit_leak = 0.05;

/// A sum over many voxels in half precision has three digits.
at::Tensor widened(const at::Tensor& values) {
  return values.to(c10::promoteTypes(values.scalar_type(), at::kFloat));
}

}  // namespace

at::Tensor kl_of_samples(const at::Tensor& narrow_mean, const at::Tensor& narrow_sigma) {
  const at::Tensor mean = widened(narrow_mean), sigma = widened(narrow_sigma);
  const at::Tensor variance = at::square(at::clamp(sigma, least_sigma));
  const at::Tensor terms = at::square(mean) + variance - at::log(variance + least_sigma) - 1;
  return terms.flatten(1).sum(1) / 2;
}

at::Tensor kl_divergence(const at::Tensor& narrow_mean, const at::Tensor& narrow_sigma, double most) {
  if (most > 0) return at::clamp(kl_of_samples(narrow_mean, narrow_sigma), 0.0, most).mean();
  const at::Tensor mean = widened(narrow_mean), sigma = widened(narrow_sigma);
  const at::Tensor variance = at::square(sigma);
  return (at::square(mean) + variance - at::log(variance) - 1).sum() / (2 * mean.size(0));
}

at::Tensor adversarial_least_squares(const at::Tensor& logits, bool target_is_real) {
  return at::square(at::leaky_relu(widened(logits), logit_leak) - (target_is_real ? 1.0 : 0.0)).mean();
}

}  // namespace larmor::nn
