// Curves that are estimated on one table and read for another: Kaplan and Meier's of the event and of the
// censoring, and Breslow's baseline hazard.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/survival/risk/survival_outcomes.h"

namespace larmor::survival {

/// A function that is constant between the times of a table and takes its new value at the time itself.
class StepCurve {
 public:
  /// `times` ascending, one value for each; `start` holds before the first.
  StepCurve(double start, std::vector<double> times, std::vector<double> values);

  double at(double time) const;
  /// The limit from the left.
  double before(double time) const;
  /// Whether the table was followed that far; later than that the last value is repeated.
  bool reaches(double time) const;

  const std::vector<double>& times() const { return times_; }
  const std::vector<double>& values() const { return values_; }

 private:
  double value_of(std::ptrdiff_t steps) const;

  double start_;
  std::vector<double> times_, values_;
};

/// Kaplan and Meier's probability to be without event; 1 before the first time. Throws Error (data) as
/// SurvivalOutcomes::check, and for a table without rows.
StepCurve kaplan_meier(const SurvivalOutcomes& outcomes);

/// G: the probability not to be censored yet. Whoever has the event at a time is no longer there to be
/// censored at that time, as in scikit-survival.
StepCurve censoring_kaplan_meier(const SurvivalOutcomes& outcomes);

/// Breslow's cumulative baseline hazard H0, with a step at each time that has an event; 0 before the first.
/// log_risk: one for each row. A table without events has a hazard of 0 everywhere.
StepCurve breslow_baseline(std::span<const double> log_risk, const SurvivalOutcomes& outcomes);

/// exp(-H0(t) exp(log_risk)).
double survival_probability(const StepCurve& baseline, double log_risk, double time);

}  // namespace larmor::survival
