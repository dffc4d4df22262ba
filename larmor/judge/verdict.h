// Whether a figure is better than its baseline, in numbers and in a sentence.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/declared_figure.h"
#include "larmor/base/json.h"
#include "larmor/task/metrics.h"

namespace larmor {

/// One figure beside one of its baselines.
struct Verdict {
  std::string figure, unit;
  Better better = Better::higher;
  Baseline baseline;
  double value = 0, baseline_value = 0;
  /// An interval of value - baseline_value, of 95 % confidence, over patients who are drawn for both alike.
  std::optional<std::pair<double, double>> interval = {};
  std::string no_interval = {};  // why there is none where one was wanted
  int64_t patients = 0;          // that the interval is over

  double difference() const { return value - baseline_value; }
  /// Whether the interval, where there is one, holds a difference of 0: then the two are not told apart.
  bool holds_zero() const;
  bool is_better() const;  // by the values alone
  bool is_worse() const;
};

/// The interval of a difference between two figures of as many draws, those of the same number being of the
/// same patients; or why there is none. Requires: verdict.patients.
void set_paired_interval(Verdict& verdict, std::vector<double> draws, const std::vector<double>& of_baseline);

/// A verdict for each declared baseline that, like its figure, is a number here.
std::vector<Verdict> verdicts_of(const DeclaredFigures& declared,
                                 const std::map<std::string, SplitMetric>& figures);

/// "psnr_brain 5.12 dB is below its baseline psnr_brain_linear_fit 16.86 dB by 11.74 dB [10.20, 13.10] over 8
/// patients; nothing learned yet". What a figure that is worse says of a run stands there where an interval
/// shows it.
std::string sentence_of(const Verdict& verdict);
Json to_json(const std::vector<Verdict>& verdicts);

}  // namespace larmor
