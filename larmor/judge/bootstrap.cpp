#include "larmor/judge/bootstrap.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "larmor/base/seed.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

/// Linear between order statistics.
double quantile_of_sorted(std::span<const double> sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto lower = static_cast<std::size_t>(std::floor(position));
  const std::size_t upper = std::min(lower + 1, sorted.size() - 1);
  return std::lerp(sorted[lower], sorted[upper], position - static_cast<double>(lower));
}

RowsOfPatients rows_of_patients(const Metrics& metrics, std::span<const int64_t> examples) {
  RowsOfPatients patients;
  std::map<std::string, std::size_t> place_of;
  for (std::size_t row = 0; row < examples.size(); ++row) {
    const auto [place, is_new] = place_of.try_emplace(metrics.patient(examples[row]), patients.size());
    if (is_new) patients.emplace_back();
    patients[place->second].push_back(row);
  }
  return patients;
}

}  // namespace

std::vector<double> bootstrap_values(const RowsOfPatients& patients, const BootstrapOptions& options,
                                     const RowMeasure& measure) {
  if (patients.empty()) return {};
  const auto repeat_measure = [&](int64_t repeat) {
    Draws draws(make_key(options.seed, /*epoch=*/0, static_cast<uint64_t>(repeat), "bootstrap"));
    std::vector<std::size_t> drawn;
    for (std::size_t i = 0; i < patients.size(); ++i) {
      const auto& rows = patients[static_cast<std::size_t>(draws.below(patients.size()))];
      drawn.insert(drawn.end(), rows.begin(), rows.end());
    }
    return measure(drawn).value_or(std::numeric_limits<double>::quiet_NaN());
  };
  if (options.shared_out) return options.shared_out(options.repeats, repeat_measure);
  std::vector<double> values;
  for (int64_t repeat = 0; repeat < options.repeats; ++repeat) values.push_back(repeat_measure(repeat));
  return values;
}

std::optional<BootstrapInterval> percentile_interval(std::vector<double> values, double confidence) {
  assert(confidence > 0 && confidence < 1);
  std::erase_if(values, [](double value) { return std::isnan(value); });
  if (values.empty()) return {};
  std::ranges::sort(values);
  const double tail = (1 - confidence) / 2;
  return BootstrapInterval{.low = quantile_of_sorted(values, tail),
                           .high = quantile_of_sorted(values, 1 - tail),
                           .repeats = static_cast<int64_t>(values.size())};
}

std::optional<BootstrapInterval> bootstrap_interval(const RowsOfPatients& patients,
                                                    const BootstrapOptions& options,
                                                    const RowMeasure& measure) {
  return percentile_interval(bootstrap_values(patients, options, measure), options.confidence);
}

SplitMetric measured(Metrics& metrics, std::span<const int64_t> examples, const RowMeasure& measure) {
  constexpr double not_defined = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::size_t> all(examples.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  SplitMetric figure{.value = all.empty() ? not_defined : measure(all).value_or(not_defined)};
  if (metrics.depth() != ValidationDepth::full || !std::isfinite(figure.value)) return figure;
  const auto patients = rows_of_patients(metrics, examples);
  if (patients.size() == 1) {
    figure.no_interval = "of one patient";
    return figure;
  }
  const auto shared_out = [&metrics](int64_t count, const std::function<double(int64_t)>& work) {
    return metrics.shared_out(count, work);
  };
  figure.draws = {.examples = {examples.begin(), examples.end()},
                  .patients = std::ssize(patients),
                  .values = bootstrap_values(patients, {.shared_out = shared_out}, measure)};
  const auto interval = percentile_interval(figure.draws.values);
  if (interval && interval->low < interval->high)
    figure.interval = {interval->low, interval->high};
  else
    figure.no_interval = text("the same for whichever of ", patients.size(), " patients are drawn");
  return figure;
}

SplitMetric of_means(Metrics& metrics, const CaseValues& cases, const std::vector<std::string>& names,
                     const std::function<double(std::span<const double>)>& measure) {
  std::vector<const CaseValues::mapped_type*> noted;
  for (const std::string& name : names) {
    const auto found = cases.find(name);
    if (found == cases.end() || found->second.empty())
      return {.value = std::numeric_limits<double>::quiet_NaN()};
    noted.push_back(&found->second);
  }
  std::vector<int64_t> examples;
  for (const auto& [example, value] : *noted.front()) examples.push_back(example);
  return measured(metrics, examples, [&](std::span<const std::size_t> rows) -> std::optional<double> {
    std::vector<double> means;
    for (const auto* values : noted) {
      double sum = 0;
      for (const std::size_t row : rows) sum += (*values)[row].second;
      means.push_back(sum / static_cast<double>(rows.size()));
    }
    return measure(means);
  });
}

SplitMetric with_reason(SplitMetric figure, const std::string& why_undefined) {
  if (std::isnan(figure.value)) figure.undefined = why_undefined;
  return figure;
}

int64_t count_patients(const Metrics& metrics, const CaseValues& cases) {
  std::set<std::string> patients;
  for (const auto& [name, per_case] : cases) {
    for (const auto& [example, value] : per_case) patients.insert(metrics.patient(example));
  }
  return std::ssize(patients);
}

SplitMetric mean_over_cases(Metrics& metrics, std::span<const std::pair<int64_t, double>> per_case) {
  std::vector<int64_t> examples;
  for (const auto& [example, value] : per_case) examples.push_back(example);
  return measured(metrics, examples, [&](std::span<const std::size_t> rows) -> std::optional<double> {
    double sum = 0;
    for (const std::size_t row : rows) sum += per_case[row].second;
    return sum / static_cast<double>(rows.size());
  });
}

}  // namespace larmor
