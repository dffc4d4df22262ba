// How far predicted survival probabilities are from what happened.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "workloads/survival/risk/survival_curves.h"
#include "workloads/survival/risk/survival_outcomes.h"

namespace larmor::survival {

struct BrierScores {
  /// One for each horizon; nothing where the training table does not reach, or all of it is censored, and
  /// where nobody of the table that is judged is followed beyond the horizon: scikit-survival refuses those.
  std::vector<std::optional<double>> at_horizons;
  /// The score by the trapezoid rule over the horizons, divided by their range; of one horizon its own score.
  /// Nothing where one of the scores is missing.
  std::optional<double> integrated;
};

/// Graf's Brier score, divided by N: whoever had the event by the horizon weighs 1/G at the event's time,
/// whoever is followed beyond it 1/G at the horizon, the censored nothing. survival: predicted probabilities
/// [N x horizons], row after row. `censoring` is censoring_kaplan_meier of the training table.
/// Source: Graf et al., Statistics in Medicine 1999; G is read at the event's time, as scikit-survival does.
/// Throws Error (data) as SurvivalOutcomes::check, for horizons that do not ascend, for probabilities that
/// are none, and for another number of them.
BrierScores brier_scores(const StepCurve& censoring, std::span<const double> survival,
                         const SurvivalOutcomes& outcomes, std::span<const double> horizons);

}  // namespace larmor::survival
