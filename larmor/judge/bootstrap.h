// How much a measure would scatter over other patients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "larmor/task/metrics.h"

namespace larmor {

struct BootstrapInterval {
  double low, high;
  int64_t repeats;  // that gave a value
};

struct BootstrapOptions {
  int64_t repeats = 1000;
  double confidence = 0.95;
  uint64_t seed = 0;
  /// Runs work as Metrics::shared_out(); empty: one repeat after the other.
  std::function<std::vector<double>(int64_t count, const std::function<double(int64_t)>& work)> shared_out =
      {};
};

/// A measure of the rows it is given; nothing where it is not defined for them.
using RowMeasure = std::function<std::optional<double>(std::span<const std::size_t> rows)>;

/// The rows of the table that are each patient's: one an image.
using RowsOfPatients = std::vector<std::vector<std::size_t>>;

/// What the measure comes to for each of the draws that bootstrap_interval() is made of; NaN where it is not
/// defined for one. Draws of as many patients are the same for every measure.
std::vector<double> bootstrap_values(const RowsOfPatients& patients, const BootstrapOptions& options,
                                     const RowMeasure& measure);
/// The interval of the values that are numbers; nothing where none is. Requires: 0 < confidence < 1.
std::optional<BootstrapInterval> percentile_interval(std::vector<double> values, double confidence = 0.95);

/// The percentile interval over tables of as many patients, drawn with replacement, each with all of their
/// rows: images of one patient say less than those of several. The draws are a function of (seed, repeat):
/// the same on every machine. Nothing when the measure was defined for no draw. Source: Efron and Tibshirani
/// 1993, §13.3; Field and Welsh 2007 for clusters. Requires: 0 < confidence < 1.
std::optional<BootstrapInterval> bootstrap_interval(const RowsOfPatients& patients,
                                                    const BootstrapOptions& options,
                                                    const RowMeasure& measure);

/// What a measure comes to over the rows of a table, row i of which is of the case `examples[i]`: NaN where
/// it is not defined. At full depth with its interval over patients, each drawn with all of their rows, or,
/// where draws cannot say how it scatters (of one patient, or where they are all alike), with the reason.
/// Collective.
SplitMetric measured(Metrics& metrics, std::span<const int64_t> examples, const RowMeasure& measure);
/// The mean of a value of each case, likewise.
SplitMetric mean_over_cases(Metrics& metrics, std::span<const std::pair<int64_t, double>> per_case);
/// What a measure makes of the means of noted values over cases, likewise; NaN where one of them was noted of
/// no case. Requires: all were noted of the same cases, in one order.
SplitMetric of_means(Metrics& metrics, const CaseValues& cases, const std::vector<std::string>& names,
                     const std::function<double(std::span<const double> means)>& measure);
/// How many patients the cases are of.
int64_t count_patients(const Metrics& metrics, const CaseValues& cases);

}  // namespace larmor
