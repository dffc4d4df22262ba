// How much a measure would scatter over other patients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace larmor::nn {

struct BootstrapInterval {
  double low, high;
  int64_t repeats;  // that gave a value
};

struct BootstrapOptions {
  int64_t repeats = 1000;
  double confidence = 0.95;
  uint64_t seed = 0;
  /// As Metrics::shared_out(); empty: one repeat after the other.
  std::function<std::vector<double>(int64_t count, const std::function<double(int64_t)>& work)> shared_out =
      {};
};

/// A measure of the rows it is given; nothing where it is not defined for them.
using RowMeasure = std::function<std::optional<double>(std::span<const std::size_t> rows)>;

/// Of each patient the rows of the table: one an image.
using RowsOfPatients = std::vector<std::vector<std::size_t>>;

/// The percentile interval over tables of as many patients, drawn with replacement, each with all of their
/// rows: images of one patient say less than those of several. The draws are a function of (seed, repeat):
/// the same on every machine. Nothing when the measure was defined for no draw. Source: Efron and Tibshirani
/// 1993, §13.3; Field and Welsh 2007 for clusters. Requires: 0 < confidence < 1.
std::optional<BootstrapInterval> bootstrap_interval(const RowsOfPatients& patients,
                                                    const BootstrapOptions& options,
                                                    const RowMeasure& measure);

}  // namespace larmor::nn
