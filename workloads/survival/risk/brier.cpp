#include "workloads/survival/risk/brier.h"

#include <algorithm>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "workloads/survival/risk/horizons.h"

namespace larmor::survival {
namespace {

/// Otherwise only those who had the event are left to count.
bool is_followed_beyond(const SurvivalOutcomes& outcomes, double horizon) {
  return std::ranges::any_of(outcomes.time, [&](double time) { return time > horizon; });
}

std::optional<double> brier_at(const StepCurve& censoring, std::span<const double> survival,
                               const SurvivalOutcomes& outcomes, std::span<const double> horizons,
                               std::size_t column) {
  const double horizon = horizons[column];
  const double uncensored = censoring.at(horizon);
  if (!is_followed_beyond(outcomes, horizon) || !censoring.reaches(horizon) || uncensored <= 0) return {};
  double sum = 0;
  for (std::size_t row = 0; row < outcomes.size(); ++row) {
    const double predicted = survival[row * horizons.size() + column];
    if (outcomes.time[row] > horizon) {
      sum += (1 - predicted) * (1 - predicted) / uncensored;
    } else if (outcomes.event[row] != 0) {
      sum += predicted * predicted / censoring.at(outcomes.time[row]);
    }
  }
  return sum / static_cast<double>(outcomes.size());
}

std::optional<double> integral(std::span<const std::optional<double>> scores,
                               std::span<const double> horizons) {
  if (scores.empty() || !std::ranges::all_of(scores, [](const auto& score) { return score.has_value(); }))
    return {};
  if (scores.size() == 1) return scores.front();
  double sum = 0;
  for (std::size_t i = 1; i < scores.size(); ++i)
    sum += 0.5 * (*scores[i] + *scores[i - 1]) * (horizons[i] - horizons[i - 1]);
  return sum / (horizons.back() - horizons.front());
}

}  // namespace

BrierScores brier_scores(const StepCurve& censoring, std::span<const double> survival,
                         const SurvivalOutcomes& outcomes, std::span<const double> horizons) {
  outcomes.check("the table");
  check_horizons(horizons);
  if (survival.size() != outcomes.size() * horizons.size())
    fail(Exit::data,
         text("there are ", survival.size(), " probabilities for ", outcomes.size(), " patients at ",
              horizons.size(), " horizons"),
         "give one for each patient and horizon");
  if (!std::ranges::all_of(survival, [](double value) { return value >= 0 && value <= 1; }))
    fail(Exit::data, "a predicted survival probability is not between 0 and 1",
         "a network whose predictions are not finite has diverged: go back to an earlier checkpoint");
  BrierScores result;
  for (std::size_t column = 0; column < horizons.size(); ++column)
    result.at_horizons.push_back(brier_at(censoring, survival, outcomes, horizons, column));
  result.integrated = integral(result.at_horizons, horizons);
  return result;
}

}  // namespace larmor::survival
