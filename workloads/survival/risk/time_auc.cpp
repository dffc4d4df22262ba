#include "workloads/survival/risk/time_auc.h"

#include <cstdint>

#include "workloads/survival/risk/horizons.h"

namespace larmor::survival {
namespace {

constexpr double auc_risk_tie = 1e-8;

/// `order` ascends by risk.
std::optional<double> auc_at(const StepCurve& censoring, std::span<const double> log_risk,
                             const SurvivalOutcomes& outcomes, std::span<const std::size_t> order,
                             double horizon) {
  double pairs = 0, all_cases = 0, all_controls = 0;
  for (std::size_t i = 0; i < order.size();) {
    double cases = 0, controls = 0;
    do {
      const std::size_t row = order[i++];
      const double time = outcomes.time[row];
      if (time > horizon) {
        ++controls;
      } else if (outcomes.event[row] != 0 && censoring.reaches(time) && censoring.at(time) > 0) {
        cases += 1 / censoring.at(time);
      }
    } while (i < order.size() && log_risk[order[i]] - log_risk[order[i - 1]] <= auc_risk_tie);
    pairs += cases * (all_controls + 0.5 * controls);
    all_cases += cases;
    all_controls += controls;
  }
  if (all_cases <= 0 || all_controls <= 0) return {};
  return pairs / (all_cases * all_controls);
}

}  // namespace

TimeAuc cumulative_dynamic_auc(const StepCurve& censoring, std::span<const double> log_risk,
                               const SurvivalOutcomes& outcomes, std::span<const double> horizons) {
  outcomes.check("the table");
  check_log_risk(log_risk, outcomes);
  check_horizons(horizons);
  TimeAuc result;
  if (outcomes.size() == 0 || horizons.empty()) {
    result.at_horizons.resize(horizons.size());
    return result;
  }
  const auto order = ascending_order(log_risk);
  const StepCurve survival = kaplan_meier(outcomes);
  double sum = 0, previous = 1;
  bool complete = true;
  for (const double horizon : horizons) {
    const auto auc = auc_at(censoring, log_risk, outcomes, order, horizon);
    result.at_horizons.push_back(auc);
    const double now = survival.at(horizon);
    complete = complete && auc.has_value();
    sum += auc.value_or(0) * (previous - now);
    previous = now;
  }
  if (!complete) return result;
  // One horizon is its own mean, also where rounding leaves the curve no fall to divide by.
  result.mean = horizons.size() == 1 ? result.at_horizons.front() : sum / (1 - previous);
  return result;
}

}  // namespace larmor::survival
