#include "larmor/nn/diffusion/clipping.h"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/kthvalue.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::nn {
namespace {

/// [N, 1] of values [N, n], linear between order statistics. at::quantile() refuses large volumes.
at::Tensor row_quantiles(const at::Tensor& values, double ratio) {
  const double position = ratio * static_cast<double>(values.size(1) - 1);
  const auto below = static_cast<int64_t>(position);
  const int64_t above = std::min(below + 1, values.size(1) - 1);
  const auto ranked = [&](int64_t rank) { return std::get<0>(at::kthvalue(values, rank + 1, 1, true)); };
  return at::lerp(ranked(below), ranked(above), position - static_cast<double>(below));
}

/// In float32 at least: the ranks of half precision would lie on a coarse grid.
at::Tensor dynamically_thresholded(const at::Tensor& x0, const ClippingOptions& options) {
  const at::Tensor rows =
      x0.flatten(1).to(x0.scalar_type() == at::kDouble ? at::kDouble : at::kFloat).contiguous();
  const at::Tensor most =
      row_quantiles(at::abs(rows), options.dynamic_thresholding_ratio).clamp(1, options.sample_max_value);
  return (at::maximum(at::minimum(rows, most), -most) / most).to(x0.scalar_type()).view(x0.sizes());
}

}  // namespace

void ClippingOptions::describe(Fields& f) {
  f.field("clip_sample", clip_sample, "clamp the predicted image while sampling");
  f.field("clip_sample_range", clip_sample_range, "to the values from minus this to this", at_least_zero);
  f.field("thresholding", thresholding,
          "dynamic thresholding: clamp to a quantile of each predicted image instead, and divide by it");
  f.field("dynamic_thresholding_ratio", dynamic_thresholding_ratio, "which quantile of absolute values",
          fraction);
  f.field("sample_max_value", sample_max_value, "the quantile counts up to this", at_least_one);
}

void ClippingOptions::check() const {
  if (clip_sample && !thresholding && !(clip_sample_range > 0))
    fail(Exit::usage, text("clip_sample_range=", clip_sample_range, " leaves nothing of an image"),
         "set it above 0, or clip_sample=false");
}

at::Tensor clipped(const at::Tensor& x0, const ClippingOptions& options) {
  if (options.thresholding) return dynamically_thresholded(x0, options);
  return options.clip_sample ? x0.clamp(-options.clip_sample_range, options.clip_sample_range) : x0;
}

}  // namespace larmor::nn
