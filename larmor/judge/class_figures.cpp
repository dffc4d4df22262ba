#include "larmor/judge/class_figures.h"

#include <cmath>
#include <limits>

#include "larmor/base/ensure.h"
#include "larmor/base/text.h"
#include "larmor/judge/bootstrap.h"

namespace larmor {

namespace {

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

std::string note_of_class(const std::string& figure, const std::string& of_class) {
  return text(figure, " ", of_class);
}

double mean_value(const CaseValues& cases, const std::string& name) {
  const auto found = cases.find(name);
  if (found == cases.end() || found->second.empty()) return no_value;
  double sum = 0;
  for (const auto& [example, value] : found->second) sum += value;
  return sum / static_cast<double>(found->second.size());
}

}  // namespace

void record_classes(Metrics& metrics, const std::string& name, int64_t example,
                    const std::vector<std::string>& classes, std::span<const double> values) {
  ensure(values.size() == classes.size());
  double sum = 0;
  int64_t count = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (std::isnan(values[i])) continue;
    metrics.note(note_of_class(name, classes[i]), example, values[i]);
    sum += values[i];
    ++count;
  }
  if (count > 0) metrics.value(name, example, sum / static_cast<double>(count));
}

SplitMetric mean_of_classes(Metrics& metrics, const CaseValues& cases, const std::string& name,
                            const std::vector<std::string>& classes) {
  const auto found = cases.find(name);
  SplitMetric figure =
      found == cases.end() ? SplitMetric{.value = no_value} : mean_over_cases(metrics, found->second);
  figure.parts_by = "class";
  for (const std::string& one : classes) {
    figure.parts.emplace_back(one, mean_value(cases, note_of_class(name, one)));
    if (std::isnan(figure.parts.back().second))
      figure.undefined_parts.emplace(one, "no case has it, and it was predicted for none");
  }
  return with_reason(std::move(figure), "no case has any of the classes, and none was predicted");
}

}  // namespace larmor
