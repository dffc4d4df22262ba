// The figures of a split: how good predicted risks are, against what happened.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/task/metrics.h"

#include "workloads/survival/risk/cox_loss.h"
#include "workloads/survival/risk/survival_curves.h"
#include "workloads/survival/risk/survival_outcomes.h"
#include "workloads/survival/risk/time_scale.h"

namespace larmor::survival {

/// A table of patients' images with what the network says of each.
struct Predictions {
  std::vector<double> log_risk;
  SurvivalOutcomes outcomes;
  std::vector<double> truth;           // the true log-risk of invented patients; otherwise empty
  std::vector<int64_t> examples = {};  // whose row each is

  /// Reads them from the values "risk", "time", "event" and, where there are any, "truth".
  static Predictions from(const CaseValues& cases);
  bool is_finite() const;
  /// Exp(-H0(t) exp(risk)) [patients x horizons], row after row.
  std::vector<double> survival(const StepCurve& baseline, std::span<const Horizon> horizons) const;
};

/// What figures are held against: censoring and survival are Kaplan and Meier's of the whole training table,
/// the baseline Breslow's of its reference cases.
struct TrainingTable {
  StepCurve censoring, baseline, survival;
  std::vector<Horizon> horizons;
  CoxTies ties = CoxTies::breslow;
  std::string_view time_unit = "days";
};

/// Figures "loss", "c_index" (Harrell's), "c_index_ipcw" (Uno's), "auc" (its mean weighs the horizons),
/// "brier" (the mean over them), "ibs", and "c_index_of_truth" of invented patients; at full depth beside the
/// Brier scores those of the survival curve that is the same for everybody ("brier_kaplan_meier",
/// "ibs_kaplan_meier"). Means are over the horizons at which the split defines the figure, and the others
/// have their reasons. Undefined ones, and all where a prediction is no number, are NaN, with the reason.
/// Where the metrics want them, bootstrap intervals over patients, each drawn with all their images; pictures
/// likewise: "risk_groups", and "calibration_5y" at each horizon.
void record_figures(const Predictions& predictions, const TrainingTable& training, Metrics& metrics);

}  // namespace larmor::survival
