// How often of two patients the one with the earlier event was given the higher risk.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <ATen/core/Tensor.h>

#include "workloads/survival/risk/survival_curves.h"
#include "workloads/survival/risk/survival_outcomes.h"

namespace larmor::survival {

/// Pairs are comparable when the earlier of the two times is an event's; at equal times, when one is an event
/// and the other is censored. Risks that differ by at most 1e-8 are tied. As in scikit-survival.
struct Concordance {
  int64_t concordant = 0, discordant = 0, tied_risk = 0;
  int64_t tied_time = 0;  // comparable pairs at equal times, which are among the three above
  /// A tie counts for half; nothing where no pair is comparable.
  std::optional<double> index;
  /// Uno's alone: events without a weight, since the training table does not reach that far.
  int64_t events_left_out = 0;
};

/// Harrell's. O(N log N). Throws Error (data) as SurvivalOutcomes::check and check_log_risk.
Concordance harrell_concordance(std::span<const double> log_risk, const SurvivalOutcomes& outcomes);

/// What Harrell's index divides: a tie counts for half, and both are 0 where a risk is not finite.
struct ConcordanceSums {
  at::Tensor concordant, comparable;  // scalars in float64
};

/// The same pairs on the device of `log_risk` [N], where no host waits for them. `time` and `event` [N],
/// float64 and on the same device. Holds a few matrices [N, N].
ConcordanceSums harrell_sums(const at::Tensor& log_risk, const at::Tensor& time, const at::Tensor& event);

/// Uno's: each pair weighs 1/G² at its event, and only events before `tau` count. `censoring` is
/// censoring_kaplan_meier of the training table. Source: Uno et al., Statistics in Medicine 2011;
/// G is read at the event's time, as scikit-survival does.
Concordance uno_concordance(const StepCurve& censoring, std::span<const double> log_risk,
                            const SurvivalOutcomes& outcomes, std::optional<double> tau = {});

}  // namespace larmor::survival
