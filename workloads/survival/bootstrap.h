// How much a measure would scatter over other patients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace larmor::survival {

struct BootstrapInterval {
  double low, high;
  int64_t repeats;  // that gave a value
};

struct BootstrapOptions {
  int64_t repeats = 1000;
  double confidence = 0.95;
  uint64_t seed = 0;
};

/// A measure of the rows it is given; nothing where it is not defined for them.
using RowMeasure = std::function<std::optional<double>(std::span<const std::size_t> rows)>;

/// The percentile interval over tables that are drawn with replacement from `rows` rows, one patient a row.
/// The draws are a function of (seed, repeat): the same on every machine. Nothing when the measure was
/// defined for no draw. Source: Efron and Tibshirani 1993, §13.3. Requires: 0 < confidence < 1.
std::optional<BootstrapInterval> bootstrap_interval(std::size_t rows, const BootstrapOptions& options,
                                                    const RowMeasure& measure);

}  // namespace larmor::survival
