#include "workloads/survival/risk/pictures.h"

#include <algorithm>
#include <array>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/draw/chart.h"

#include "workloads/survival/risk/horizons.h"
#include "workloads/survival/risk/survival_curves.h"

namespace larmor::survival {
namespace {

// `parts` groups of rows by ascending value, some of them empty where values are equal.
std::vector<std::vector<std::size_t>> parts_by_value(std::span<const double> values, std::size_t parts) {
  const std::vector<std::size_t> order = ascending_order(values);
  const auto value_of = [&](std::size_t row) { return values[row]; };
  std::vector<std::vector<std::size_t>> groups;
  auto begin = order.begin();
  for (std::size_t part = 1; part <= parts; ++part) {
    const std::size_t cut = order.size() * part / parts;
    const auto end =
        cut == order.size() ? order.end() : std::ranges::lower_bound(order, values[order[cut]], {}, value_of);
    groups.emplace_back(begin, end);
    begin = end;
  }
  return groups;
}

// Fewer patients make no group.
constexpr std::size_t fewest_at_risk = 5, fewest_calibrated = 10;

std::string counted(std::size_t count, std::string_view word) {
  return text(count, " ", word, count == 1 ? "" : "s");
}

ChartSeries curve_of(const StepCurve& curve, std::string name, int colour) {
  ChartSeries series{.name = std::move(name), .x = {0}, .y = {1}, .way = ChartSeries::Way::steps};
  series.x.insert(series.x.end(), curve.times().begin(), curve.times().end());
  series.y.insert(series.y.end(), curve.values().begin(), curve.values().end());
  series.colour = colour;
  return series;
}

ChartSeries censored_on(const StepCurve& curve, const SurvivalOutcomes& outcomes, int colour) {
  ChartSeries series{.way = ChartSeries::Way::none, .mark = ChartSeries::Mark::tick, .colour = colour};
  // More of them would hide the curve.
  constexpr std::size_t most_ticks = 100;
  if (outcomes.size() - outcomes.events() > most_ticks) return series;
  for (std::size_t row = 0; row < outcomes.size(); ++row) {
    if (outcomes.event[row] != 0) continue;
    series.x.push_back(outcomes.time[row]);
    series.y.push_back(curve.at(outcomes.time[row]));
  }
  return series;
}

void check_probabilities(std::span<const double> survival, const SurvivalOutcomes& outcomes) {
  if (survival.size() != outcomes.size())
    fail(Exit::data, text("there are ", survival.size(), " probabilities for ", outcomes.size(), " patients"),
         "give one for each row of the table");
  if (!std::ranges::all_of(survival, [](double value) { return value >= 0 && value <= 1; }))
    fail(Exit::data, "a predicted survival probability is not between 0 and 1",
         "a network whose predictions are not finite has diverged: go back to an earlier checkpoint");
}

// The end of both axes: the same for both, so that the diagonal is one.
double axis_end(std::span<const CalibrationGroup> groups) {
  double largest = 0;
  for (const CalibrationGroup& group : groups) largest = std::max({largest, group.predicted, group.observed});
  for (const double end : {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8}) {
    if (largest <= end) return end;
  }
  return 1;
}

}  // namespace

std::vector<RiskGroup> risk_groups(std::span<const double> log_risk) {
  constexpr std::array<const char*, 3> names = {"low", "middle", "high"};
  std::vector<RiskGroup> groups;
  auto thirds = parts_by_value(log_risk, names.size());
  for (std::size_t third = 0; third < names.size(); ++third) {
    if (thirds[third].size() >= fewest_at_risk)
      groups.push_back({.name = names[third], .rows = std::move(thirds[third])});
  }
  return groups;
}

std::string why_no_risk_groups(std::span<const double> log_risk) {
  std::vector<std::string> sizes;
  for (const auto& third : parts_by_value(log_risk, 3)) sizes.push_back(text(third.size()));
  return text("no chart of risk groups: it needs at least ", fewest_at_risk,
              " patients in two thirds of the patients by risk, and the thirds of these ",
              counted(log_risk.size(), "patient"), " have ", join(sizes, ", "),
              " (patients of equal risk stay together)");
}

std::optional<Image> risk_group_picture(std::span<const double> log_risk, const SurvivalOutcomes& outcomes,
                                        std::string_view time_unit) {
  outcomes.check("the table");
  check_log_risk(log_risk, outcomes);
  const std::vector<RiskGroup> groups = risk_groups(log_risk);
  if (groups.size() < 2) return {};
  Chart chart{.title = "Kaplan-Meier curves by predicted risk",
              .x = {.title = text("time in ", time_unit), .low = 0},
              .y = {.title = "share of patients without event", .low = 0, .high = 1}};
  double end = 0;
  for (int i = 0; const RiskGroup& group : groups) {
    const SurvivalOutcomes table = rows_of(outcomes, group.rows);
    const StepCurve curve = kaplan_meier(table);
    end = std::max(end, curve.times().back());
    const std::string name =
        text(group.name, " risk: ", counted(table.size(), "patient"), ", ", counted(table.events(), "event"));
    chart.series.push_back(curve_of(curve, name, i));
    chart.series.push_back(censored_on(curve, table, i));
    ++i;
  }
  if (end > 0) chart.x.high = end;
  return draw_chart(chart);
}

std::vector<CalibrationGroup> calibration_groups(std::span<const double> survival,
                                                 const SurvivalOutcomes& outcomes, double horizon) {
  outcomes.check("the table");
  check_horizons(std::array{horizon});
  check_probabilities(survival, outcomes);
  constexpr std::size_t most_groups = 5, fewest = fewest_calibrated;
  std::vector<double> predicted;
  for (const double probability : survival) predicted.push_back(1 - probability);
  std::vector<CalibrationGroup> groups;
  const std::size_t parts = std::clamp(outcomes.size() / fewest, std::size_t{1}, most_groups);
  for (const auto& rows : parts_by_value(predicted, parts)) {
    if (rows.size() < fewest) continue;
    const StepCurve curve = kaplan_meier(rows_of(outcomes, rows));
    // A group that has all had the event is known for ever.
    if (!curve.reaches(horizon) && curve.at(horizon) > 0) continue;
    double sum = 0;
    for (const std::size_t row : rows) sum += predicted[row];
    groups.push_back({.predicted = sum / static_cast<double>(rows.size()),
                      .observed = 1 - curve.at(horizon),
                      .patients = rows.size()});
  }
  return groups;
}

std::optional<Image> calibration_picture(std::span<const double> survival, const SurvivalOutcomes& outcomes,
                                         double horizon, std::string_view horizon_name) {
  const std::vector<CalibrationGroup> groups = calibration_groups(survival, outcomes, horizon);
  if (groups.empty()) return {};
  ChartSeries found{.mark = ChartSeries::Mark::dot};
  std::size_t patients = 0;
  for (const CalibrationGroup& group : groups) {
    found.x.push_back(group.predicted);
    found.y.push_back(group.observed);
    patients += group.patients;
  }
  found.name = text(counted(patients, "patient"), " in ", counted(groups.size(), "group"));
  const double end = axis_end(groups);
  constexpr int width = 810;  // makes the plot nearly a square
  return draw_chart({.title = text("Calibration at ", horizon_name),
                     .x = {.title = text("mean predicted probability of the event by ", horizon_name),
                           .low = 0,
                           .high = end},
                     .y = {.title = "observed (1 - Kaplan-Meier)", .low = 0, .high = end},
                     .series = {{.name = "as predicted", .x = {0, end}, .y = {0, end}, .reference = true},
                                std::move(found)},
                     .width = width});
}

std::string why_no_calibration(const SurvivalOutcomes& outcomes, std::string_view horizon_names,
                               std::string_view time_unit) {
  const std::string begin = text("no chart of calibration at ", horizon_names, ": its groups have at least ",
                                 fewest_calibrated, " patients each, ");
  if (outcomes.size() < fewest_calibrated)
    return text(begin, "and there ", outcomes.size() == 1 ? "is " : "are ", outcomes.size());
  return text(begin, "and none of them was followed that long (the longest time is ",
              fixed(std::ranges::max(outcomes.time), 1), " ", time_unit, ")");
}

}  // namespace larmor::survival
