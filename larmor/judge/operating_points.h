// Where a score becomes a yes: ROC curves, and thresholds that are chosen on other patients than those they
// are judged on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/task/case_columns.h"

namespace larmor {

/// What calling all scores from a threshold on "yes" comes to. A share of nothing is nothing.
struct OperatingPoint {
  double threshold = 0;
  std::optional<double> sensitivity, specificity, precision;
};
OperatingPoint operating_point(std::span<const ScoredTruths::Row> rows, double threshold);

/// Those whose score is a number.
std::vector<ScoredTruths::Row> usable_rows(const ScoredTruths& scores);
/// The points from the highest threshold down, a point for each distinct score; empty where all rows are
/// alike. Source: Fawcett 2006, algorithm 1. O(N log N).
std::vector<OperatingPoint> roc_curve(std::span<const ScoredTruths::Row> rows);

/// AUROC, by trapezoids from (0, 0) on. Requires: a curve that is not empty.
double area_under(const std::vector<OperatingPoint>& curve);

/// The rule by which a threshold is chosen.
struct ThresholdRule {
  std::string name;                              // "youden", "sensitivity 0.9"
  std::optional<double> least_sensitivity = {};  // the highest threshold that has it; else Youden's J
};
std::vector<ThresholdRule> threshold_rules();
/// Nothing where the curve has no point. Of equal ones the higher threshold.
std::optional<double> choose_threshold(const std::vector<OperatingPoint>& curve, const ThresholdRule& rule);

/// A chosen threshold, on those by whom it was not chosen.
struct JudgedThreshold {
  using Interval = std::optional<std::pair<double, double>>;

  std::string name, rule;
  std::string chosen_on;  // "val", "half of the patients of val"
  int64_t chosen_rows = 0, judged_rows = 0, judged_yes = 0, judged_patients = 0;
  std::optional<OperatingPoint> point = {};
  Interval sensitivity = {}, specificity = {}, precision = {};  // of 95 %, over patients
  std::string reason = {};                                      // why there is no point; empty otherwise
};

using PatientOf = std::function<std::string(int64_t example)>;

/// `chosen_on`: the same scores of another split, called `chosen_name`, whose patients are others; where it
/// is empty half of the patients of `judged`, called `judged_name`, choose, and the other half is judged. Who
/// is in which half goes by the patients' names alone.
std::vector<JudgedThreshold> judge_thresholds(const std::vector<ScoredTruths>& judged,
                                              const std::string& judged_name, const PatientOf& patient_of,
                                              const std::vector<ScoredTruths>& chosen_on,
                                              const std::string& chosen_name);

/// roc.csv: name, threshold, sensitivity, false_positive_rate, precision.
std::string roc_table(const std::vector<ScoredTruths>& judged);
/// thresholds.csv: name, rule, threshold, chosen_on, chosen_rows, judged_rows, judged_yes, judged_patients,
/// sensitivity, specificity and precision with _low and _high, reason.
std::string thresholds_table(const std::vector<JudgedThreshold>& thresholds);
/// The same columns by their names, null where there is nothing.
Json to_json(const std::vector<JudgedThreshold>& thresholds);

}  // namespace larmor
