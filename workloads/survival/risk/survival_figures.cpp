#include "workloads/survival/risk/survival_figures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include <ATen/ops/tensor.h>

#include "larmor/base/text.h"
#include "larmor/train/bootstrap.h"

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

void set_parts(SplitMetric& figure, std::span<const Horizon> horizons,
               std::span<const std::optional<double>> values) {
  figure.parts_by = "horizon";
  for (std::size_t i = 0; i < horizons.size(); ++i)
    figure.parts.emplace_back(horizons[i].name, values[i].value_or(undefined));
}

std::optional<double> mean_of(std::span<const std::optional<double>> values) {
  double sum = 0;
  for (const auto& value : values) {
    if (!value) return std::nullopt;
    sum += *value;
  }
  if (values.empty()) return std::nullopt;
  return sum / static_cast<double>(values.size());
}

std::optional<double> cox_of(const Predictions& table, CoxTies ties) {
  const auto event = std::vector<double>(table.outcomes.event.begin(), table.outcomes.event.end());
  return cox_loss(at::tensor(table.log_risk, at::kDouble), at::tensor(table.outcomes.time, at::kDouble),
                  at::tensor(event, at::kDouble), ties)
      .item<double>();
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
  metrics.figure("c_index", figure_of(predictions, harrell, metrics));
  metrics.figure("c_index_ipcw", figure_of(predictions, uno, metrics));
  if (!predictions.truth.empty())
    metrics.figure("c_index_of_truth", figure_of(predictions, of_truth, metrics));
}

void record_at_horizons(const Predictions& predictions, const TrainingTable& training, Metrics& metrics) {
  const auto times = times_of(training.horizons);
  const auto auc = [&](const Predictions& table) {
    return cumulative_dynamic_auc(training.censoring, table.log_risk, table.outcomes, times);
  };
  const auto brier = [&](const Predictions& table) {
    return brier_scores(training.censoring, table.survival(training.baseline, training.horizons),
                        table.outcomes, times);
  };
  auto of_auc = figure_of(predictions, [&](const Predictions& table) { return auc(table).mean; }, metrics);
  set_parts(of_auc, training.horizons, auc(predictions).at_horizons);
  auto of_brier = figure_of(
      predictions, [&](const Predictions& table) { return mean_of(brier(table).at_horizons); }, metrics);
  set_parts(of_brier, training.horizons, brier(predictions).at_horizons);
  metrics.figure("auc", of_auc);
  metrics.figure("brier", of_brier);
  metrics.figure(
      "ibs",
      figure_of(predictions, [&](const Predictions& table) { return brier(table).integrated; }, metrics));
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
  for (const auto* name : {"loss", "c_index", "c_index_ipcw"}) metrics.figure(name, {.value = undefined});
  if (training.horizons.empty()) return;
  for (const auto* name : {"auc", "brier", "ibs"}) metrics.figure(name, {.value = undefined});
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
  metrics.figure("loss", {.value = cox_of(predictions, training.ties).value_or(undefined)});
  record_ranking(predictions, training, metrics);
  if (!training.horizons.empty()) record_at_horizons(predictions, training, metrics);
  if (metrics.wants_pictures()) record_pictures(predictions, training, metrics);
}

}  // namespace larmor::survival
