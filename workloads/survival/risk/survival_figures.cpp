#include "workloads/survival/risk/survival_figures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include <ATen/ops/tensor.h>

#include "larmor/base/text.h"
#include "larmor/judge/bootstrap.h"

#include "workloads/survival/risk/brier.h"
#include "workloads/survival/risk/concordance.h"
#include "workloads/survival/risk/pictures.h"
#include "workloads/survival/risk/time_auc.h"

namespace larmor::survival {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

std::vector<double> column(const CaseValues& cases, const std::string& name) {
  std::vector<double> values;
  const auto found = cases.find(name);
  if (found == cases.end()) return values;
  for (const auto& [example, value] : found->second) values.push_back(value);
  return values;
}

Predictions resampled(const Predictions& all, std::span<const std::size_t> rows) {
  Predictions some;
  some.outcomes = rows_of(all.outcomes, rows);
  for (const auto row : rows) {
    some.log_risk.push_back(all.log_risk[row]);
    if (!all.truth.empty()) some.truth.push_back(all.truth[row]);
  }
  return some;
}

std::vector<double> times_of(std::span<const Horizon> horizons) {
  std::vector<double> times;
  for (const auto& horizon : horizons) times.push_back(horizon.time);
  return times;
}

using Measure = std::function<std::optional<double>(const Predictions&)>;

/// A measure of all patients, at full depth with its interval over others of their kind.
SplitMetric figure_of(const Predictions& predictions, const Measure& measure, Metrics& metrics) {
  return measured(metrics, predictions.examples,
                  [&](std::span<const std::size_t> rows) { return measure(resampled(predictions, rows)); });
}

/// Why the table has no figure at a horizon.
std::string why_not_at(const Horizon& horizon, const Predictions& predictions, const StepCurve& censoring) {
  const auto is_later = [&](double time) { return time > horizon.time; };
  if (std::ranges::none_of(predictions.outcomes.time, is_later))
    return text("nobody is followed beyond ", horizon.name);
  if (!censoring.reaches(horizon.time)) return text("no training case is followed to ", horizon.name);
  if (censoring.at(horizon.time) <= 0) return text("all training cases are censored by ", horizon.name);
  return text("nobody is known to have had the event by ", horizon.name);
}

using ValuesAtHorizons = std::vector<std::optional<double>>;

std::optional<double> mean_of(const ValuesAtHorizons& values) {
  double sum = 0;
  for (const auto& value : values) {
    if (!value) return std::nullopt;
    sum += *value;
  }
  if (values.empty()) return std::nullopt;
  return sum / static_cast<double>(values.size());
}

/// What a figure over horizons is made of: those at which these patients define it.
struct AtHorizons {
  std::vector<Horizon> used;
  std::vector<std::pair<std::string, double>> parts;
  std::map<std::string, std::string> missing;  // why, by the horizon

  SplitMetric figure(SplitMetric mean, bool has_parts = true) const {
    mean.parts_by = "horizon";
    if (has_parts) mean.parts = parts;
    mean.undefined_parts = missing;
    return with_reason(std::move(mean), missing.empty() ? "" : missing.begin()->second);
  }
};

AtHorizons at_horizons(const ValuesAtHorizons& values, const Predictions& predictions,
                       const TrainingTable& training) {
  AtHorizons all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Horizon& horizon = training.horizons[i];
    all.parts.emplace_back(horizon.name, values[i].value_or(undefined));
    if (values[i])
      all.used.push_back(horizon);
    else
      all.missing[horizon.name] = why_not_at(horizon, predictions, training.censoring);
  }
  return all;
}

std::optional<double> cox_of(const Predictions& table, CoxTies ties) {
  const auto event = std::vector<double>(table.outcomes.event.begin(), table.outcomes.event.end());
  return cox_loss(at::tensor(table.log_risk, at::kDouble), at::tensor(table.outcomes.time, at::kDouble),
                  at::tensor(event, at::kDouble), ties)
      .item<double>();
}

std::string why_no_pair(const Predictions& predictions) {
  const auto events = std::ranges::count(predictions.outcomes.event, 1);
  if (events == 0) return "no two patients can be compared: nobody has had the event";
  return "no two patients can be compared: of no pair is it known who had the event first";
}

void record_ranking(const Predictions& predictions, const TrainingTable& training, Metrics& metrics) {
  const auto harrell = [](const Predictions& table) {
    return harrell_concordance(table.log_risk, table.outcomes).index;
  };
  const auto uno = [&](const Predictions& table) {
    return uno_concordance(training.censoring, table.log_risk, table.outcomes).index;
  };
  const auto of_truth = [](const Predictions& table) {
    return harrell_concordance(table.truth, table.outcomes).index;
  };
  const std::string why = why_no_pair(predictions);
  const bool has_pair = harrell(predictions).has_value();
  metrics.figure("c_index", with_reason(figure_of(predictions, harrell, metrics), why));
  metrics.figure(
      "c_index_ipcw",
      with_reason(figure_of(predictions, uno, metrics),
                  has_pair ? "no training case is followed as far as those who can be compared" : why));
  if (!predictions.truth.empty())
    metrics.figure("c_index_of_truth", with_reason(figure_of(predictions, of_truth, metrics), why));
}

void record_auc(const Predictions& predictions, const TrainingTable& training, Metrics& metrics) {
  const auto auc = [&](const Predictions& table, const std::vector<Horizon>& horizons) {
    return cumulative_dynamic_auc(training.censoring, table.log_risk, table.outcomes, times_of(horizons));
  };
  const auto there = at_horizons(auc(predictions, training.horizons).at_horizons, predictions, training);
  metrics.figure("auc", there.figure(figure_of(
                            predictions,
                            [&](const Predictions& table) { return auc(table, there.used).mean; }, metrics)));
}

/// `probabilities`: of a table, at horizons. `behind`: what stands behind the names.
void record_brier(
    const Predictions& predictions, const TrainingTable& training, const std::string& behind,
    const std::function<std::vector<double>(const Predictions&, const std::vector<Horizon>&)>& probabilities,
    Metrics& metrics) {
  const auto brier = [&](const Predictions& table, const std::vector<Horizon>& horizons) {
    return brier_scores(training.censoring, probabilities(table, horizons), table.outcomes,
                        times_of(horizons));
  };
  const auto there = at_horizons(brier(predictions, training.horizons).at_horizons, predictions, training);
  const auto record = [&](const std::string& name, bool has_parts, const Measure& measure) {
    metrics.figure(name + behind, there.figure(figure_of(predictions, measure, metrics), has_parts));
  };
  record("brier", true,
         [&](const Predictions& table) { return mean_of(brier(table, there.used).at_horizons); });
  record("ibs", false, [&](const Predictions& table) { return brier(table, there.used).integrated; });
}

void record_at_horizons(const Predictions& predictions, const TrainingTable& training, Metrics& metrics) {
  record_auc(predictions, training, metrics);
  record_brier(
      predictions, training, "",
      [&](const Predictions& table, const std::vector<Horizon>& horizons) {
        return table.survival(training.baseline, horizons);
      },
      metrics);
  if (metrics.depth() != ValidationDepth::full) return;
  record_brier(
      predictions, training, "_kaplan_meier",
      [&](const Predictions& table, const std::vector<Horizon>& horizons) {
        std::vector<double> same;
        for (std::size_t row = 0; row < table.outcomes.size(); ++row) {
          for (const Horizon& horizon : horizons) same.push_back(training.survival.at(horizon.time));
        }
        return same;
      },
      metrics);
}

void record_pictures(const Predictions& predictions, const TrainingTable& training, Metrics& metrics) {
  const auto groups = risk_group_picture(predictions.log_risk, predictions.outcomes, training.time_unit);
  if (groups)
    metrics.picture("risk_groups", *groups);
  else
    metrics.remark(why_no_risk_groups(predictions.log_risk));
  std::vector<std::string> without;
  for (const auto& horizon : training.horizons) {
    const auto survival = predictions.survival(training.baseline, std::span(&horizon, 1));
    const auto calibration = calibration_picture(survival, predictions.outcomes, horizon.time, horizon.name);
    if (calibration)
      metrics.picture("calibration_" + horizon.name, *calibration);
    else
      without.push_back(horizon.name);
  }
  if (!without.empty())
    metrics.remark(why_no_calibration(predictions.outcomes, join(without, ", "), training.time_unit));
}

void record_undefined(const TrainingTable& training, Metrics& metrics) {
  const SplitMetric figure{.value = undefined,
                           .undefined = "a prediction is no number: the network has diverged"};
  for (const auto* name : {"loss", "c_index", "c_index_ipcw"}) metrics.figure(name, figure);
  if (training.horizons.empty()) return;
  for (const auto* name : {"auc", "brier", "ibs"}) metrics.figure(name, figure);
}

}  // namespace

Predictions Predictions::from(const CaseValues& cases) {
  Predictions predictions;
  predictions.log_risk = column(cases, "risk");
  predictions.truth = column(cases, "truth");
  if (const auto found = cases.find("risk"); found != cases.end()) {
    for (const auto& [example, risk] : found->second) predictions.examples.push_back(example);
  }
  predictions.outcomes.time = column(cases, "time");
  for (const double event : column(cases, "event"))
    predictions.outcomes.event.push_back(static_cast<uint8_t>(event));
  return predictions;
}

bool Predictions::is_finite() const {
  return std::ranges::all_of(log_risk, [](double risk) { return std::isfinite(risk); });
}

std::vector<double> Predictions::survival(const StepCurve& baseline,
                                          std::span<const Horizon> horizons) const {
  std::vector<double> probabilities;
  for (const double risk : log_risk) {
    for (const auto& horizon : horizons)
      probabilities.push_back(survival_probability(baseline, risk, horizon.time));
  }
  return probabilities;
}

void record_figures(const Predictions& predictions, const TrainingTable& training, Metrics& metrics) {
  if (!predictions.is_finite()) {
    record_undefined(training, metrics);
    return;
  }
  // Of censored patients alone Cox's loss is 0 whatever is predicted, which would look like the best of all.
  const bool has_event = predictions.outcomes.events() > 0;
  const auto loss = [&](const Predictions& drawn) -> std::optional<double> {
    return drawn.outcomes.events() > 0 ? cox_of(drawn, training.ties) : std::nullopt;
  };
  metrics.figure("loss", with_reason(figure_of(predictions, loss, metrics),
                                     has_event ? "" : "nobody has had the event"));
  record_ranking(predictions, training, metrics);
  if (!training.horizons.empty()) record_at_horizons(predictions, training, metrics);
  if (metrics.wants_pictures()) record_pictures(predictions, training, metrics);
}

}  // namespace larmor::survival
