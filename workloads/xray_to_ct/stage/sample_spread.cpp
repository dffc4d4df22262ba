#include "workloads/xray_to_ct/stage/sample_spread.h"

#include <cmath>

#include <ATen/ATen.h>

#include "larmor/base/ensure.h"

namespace larmor::xray_to_ct {
namespace {

/// [n] float64, from 0 on.
at::Tensor ranks_of(const at::Tensor& values) {
  const auto [sorted, order] = values.flatten().sort();
  const auto [unique, group, counts] =
      at::unique_consecutive(sorted, /*return_inverse=*/true, /*return_counts=*/true);
  const at::Tensor sizes = counts.to(at::kDouble);
  const at::Tensor middles = sizes.cumsum(0) - (sizes + 1) / 2;  // of each group of equal values
  at::Tensor ranks = at::empty({values.numel()}, middles.options());
  ranks.index_put_({order}, middles.index({group}));
  return ranks;
}

double root_mean_square(const at::Tensor& values) {
  return std::sqrt(values.to(at::kDouble).square().mean().item<double>());
}

}  // namespace

double rank_correlation(const at::Tensor& one, const at::Tensor& other) {
  const at::Tensor x = ranks_of(one), y = ranks_of(other);
  const at::Tensor of_x = x - x.mean(), of_y = y - y.mean();
  return ((of_x * of_y).sum() / (of_x.square().sum() * of_y.square().sum()).sqrt()).item<double>();
}

void SpreadSamples::add(const at::Tensor& sample) {
  (all_.count() % 2 == 0 ? sorting_ : measured_).add(sample);
  all_.add(sample);
}

double SpreadSamples::error_scale() const {
  const auto count = static_cast<double>(measured_.count());
  return std::sqrt(count / (count + 1));
}

std::vector<SpreadBin> spread_bins(const at::Tensor& sorting, const at::Tensor& deviation,
                                   const at::Tensor& error, int64_t bins) {
  const int64_t count = sorting.numel();
  ensure(count >= bins);
  const at::Tensor order = sorting.flatten().argsort(/*stable=*/true, 0, /*descending=*/false);
  const at::Tensor of_deviation = deviation.flatten().index({order}),
                   of_error = error.flatten().index({order});
  std::vector<SpreadBin> all;
  for (int64_t bin = 0; bin < bins; ++bin) {
    const int64_t first = count * bin / bins, end = count * (bin + 1) / bins;
    all.push_back({.deviation = root_mean_square(of_deviation.slice(0, first, end)),
                   .error = root_mean_square(of_error.slice(0, first, end))});
  }
  return all;
}

}  // namespace larmor::xray_to_ct
