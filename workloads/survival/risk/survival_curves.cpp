#include "workloads/survival/risk/survival_curves.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "larmor/base/error.h"

namespace larmor::survival {
namespace {

/// What happens at one time.
struct TimeCounts {
  double time;
  double events, censored, at_risk;  // at_risk: everyone whose time is not earlier
};

std::vector<TimeCounts> counts_of(const SurvivalOutcomes& outcomes) {
  outcomes.check("the table");
  require(outcomes.size() > 0, Exit::data, "a survival curve of no patients",
          "give a table with one row at least");
  std::vector<TimeCounts> counts;
  for (const std::size_t row : ascending_order(outcomes.time)) {
    if (counts.empty() || counts.back().time != outcomes.time[row])
      counts.push_back({.time = outcomes.time[row], .events = 0, .censored = 0, .at_risk = 0});
    (outcomes.event[row] != 0 ? counts.back().events : counts.back().censored) += 1;
  }
  double at_risk = 0;
  for (auto entry = counts.rbegin(); entry != counts.rend(); ++entry)
    entry->at_risk = at_risk += entry->events + entry->censored;
  return counts;
}

/// `leaving` of `present` gives the factor of one time.
template <class Leaving, class Present>
StepCurve product_limit(const SurvivalOutcomes& outcomes, Leaving leaving, Present present) {
  std::vector<double> times, values;
  double probability = 1;
  for (const TimeCounts& entry : counts_of(outcomes)) {
    if (const double left = leaving(entry); left > 0) probability *= 1 - left / present(entry);
    times.push_back(entry.time);
    values.push_back(probability);
  }
  return {1, std::move(times), std::move(values)};
}

}  // namespace

StepCurve::StepCurve(double start, std::vector<double> times, std::vector<double> values)
    : start_(start), times_(std::move(times)), values_(std::move(values)) {}

double StepCurve::value_of(std::ptrdiff_t steps) const {
  return steps == 0 ? start_ : values_[static_cast<std::size_t>(steps - 1)];
}

double StepCurve::at(double time) const {
  return value_of(std::ranges::upper_bound(times_, time) - times_.begin());
}

double StepCurve::before(double time) const {
  return value_of(std::ranges::lower_bound(times_, time) - times_.begin());
}

bool StepCurve::reaches(double time) const { return !times_.empty() && time <= times_.back(); }

StepCurve kaplan_meier(const SurvivalOutcomes& outcomes) {
  return product_limit(
      outcomes, [](const TimeCounts& entry) { return entry.events; },
      [](const TimeCounts& entry) { return entry.at_risk; });
}

StepCurve censoring_kaplan_meier(const SurvivalOutcomes& outcomes) {
  return product_limit(
      outcomes, [](const TimeCounts& entry) { return entry.censored; },
      [](const TimeCounts& entry) { return entry.at_risk - entry.events; });
}

StepCurve breslow_baseline(std::span<const double> log_risk, const SurvivalOutcomes& outcomes) {
  outcomes.check("the table");
  check_log_risk(log_risk, outcomes);
  const auto order = ascending_order(outcomes.time);
  std::vector<double> times, steps;
  // From the last patient backwards: log of the sum of exp over those at risk, kept as a shift and a sum.
  double shift = 0, sum = 0;
  for (std::size_t end = order.size(); end > 0;) {
    const double time = outcomes.time[order[end - 1]];
    double events = 0;
    for (; end > 0 && outcomes.time[order[end - 1]] == time; --end) {
      const double value = log_risk[order[end - 1]];
      if (sum == 0) {
        shift = value;
      } else if (value > shift) {
        sum *= std::exp(shift - value);
        shift = value;
      }
      sum += std::exp(value - shift);
      events += outcomes.event[order[end - 1]];
    }
    if (events == 0) continue;
    times.push_back(time);
    steps.push_back(events * std::exp(-shift) / sum);
  }
  std::ranges::reverse(times);
  std::ranges::reverse(steps);
  double hazard = 0;
  for (double& step : steps) step = hazard += step;
  return {0, std::move(times), std::move(steps)};
}

double survival_probability(const StepCurve& baseline, double log_risk, double time) {
  // As logarithms: a hazard of 0 stays one, however large the risk.
  return std::exp(-std::exp(std::log(baseline.at(time)) + log_risk));
}

}  // namespace larmor::survival
