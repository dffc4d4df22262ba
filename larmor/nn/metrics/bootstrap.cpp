#include "larmor/nn/metrics/bootstrap.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "larmor/base/seed.h"

namespace larmor::nn {
namespace {

/// Linear between order statistics.
double quantile_of_sorted(std::span<const double> sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto lower = static_cast<std::size_t>(std::floor(position));
  const std::size_t upper = std::min(lower + 1, sorted.size() - 1);
  return std::lerp(sorted[lower], sorted[upper], position - static_cast<double>(lower));
}

}  // namespace

std::optional<BootstrapInterval> bootstrap_interval(const RowsOfPatients& patients,
                                                    const BootstrapOptions& options,
                                                    const RowMeasure& measure) {
  assert(options.confidence > 0 && options.confidence < 1);
  if (patients.empty()) return {};
  const auto repeat_measure = [&](int64_t repeat) {
    Draws draws(make_key(options.seed, /*epoch=*/0, static_cast<uint64_t>(repeat), "bootstrap"));
    std::vector<std::size_t> drawn;
    for (std::size_t i = 0; i < patients.size(); ++i) {
      const auto& rows = patients[static_cast<std::size_t>(draws.below(patients.size()))];
      drawn.insert(drawn.end(), rows.begin(), rows.end());
    }
    return measure(drawn).value_or(std::numeric_limits<double>::quiet_NaN());
  };
  std::vector<double> values;
  if (options.shared_out) {
    values = options.shared_out(options.repeats, repeat_measure);
  } else {
    for (int64_t repeat = 0; repeat < options.repeats; ++repeat) values.push_back(repeat_measure(repeat));
  }
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return {};
  std::ranges::sort(values);
  const double tail = (1 - options.confidence) / 2;
  return BootstrapInterval{.low = quantile_of_sorted(values, tail),
                           .high = quantile_of_sorted(values, 1 - tail),
                           .repeats = static_cast<int64_t>(values.size())};
}

}  // namespace larmor::nn
