// How well the risk tells those who have had the event by a time from those who have not.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "workloads/survival/risk/survival_curves.h"
#include "workloads/survival/risk/survival_outcomes.h"

namespace larmor::survival {

struct TimeAuc {
  /// One for each horizon; nothing where there is no case or no control.
  std::vector<std::optional<double>> at_horizons;
  /// Weighted by the fall of the table's own Kaplan-Meier curve up to each horizon; nothing where one is
  /// missing.
  std::optional<double> mean;
};

/// Cumulative/dynamic AUC: cases have had the event by the horizon and weigh 1/G at it, controls are followed
/// beyond it; tied risks (1e-8) count for half. `censoring` is censoring_kaplan_meier of the training table;
/// cases that it does not reach have no weight. horizons ascend, in the unit of the times.
/// Source: Uno et al., JASA 2007; Hung and Chiang, 2010; scikit-survival's cumulative_dynamic_auc.
/// Throws Error (data) as SurvivalOutcomes::check and check_log_risk, and for horizons that do not ascend.
TimeAuc cumulative_dynamic_auc(const StepCurve& censoring, std::span<const double> log_risk,
                               const SurvivalOutcomes& outcomes, std::span<const double> horizons);

}  // namespace larmor::survival
