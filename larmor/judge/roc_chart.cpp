#include "larmor/judge/roc_chart.h"

#include <algorithm>
#include <cstddef>

#include "larmor/base/text.h"
#include "larmor/draw/chart.h"
#include "larmor/judge/operating_points.h"

namespace larmor {

namespace {

constexpr std::size_t most_curves = 7;  // of a chart: so many colours are told apart

ChartSeries series_of(const ScoredTruths& scores) {
  const auto rows = usable_rows(scores);
  const auto curve = roc_curve(rows);
  const auto having = std::ranges::count(rows, true, &ScoredTruths::Row::truth);
  ChartSeries series{
      .name = text(scores.name, ": AUROC ", fixed(area_under(curve), 3), ", ", having, " of ", rows.size()),
      .x = {0},
      .y = {0}};
  for (const OperatingPoint& point : curve) {
    series.x.push_back(1 - *point.specificity);
    series.y.push_back(*point.sensitivity);
  }
  return series;
}

Image chart_of(std::vector<ChartSeries> curves) {
  constexpr int width = 810;  // makes the plot nearly a square
  curves.insert(curves.begin(), {.name = "chance", .x = {0, 1}, .y = {0, 1}, .reference = true});
  return draw_chart({.title = "ROC curves; in the legend how many have it",
                     .x = {.title = "false positives among those without it", .low = 0, .high = 1},
                     .y = {.title = "sensitivity", .low = 0, .high = 1},
                     .series = std::move(curves),
                     .width = width});
}

}  // namespace

std::vector<std::pair<std::string, Image>> roc_charts(const std::vector<ScoredTruths>& scores) {
  std::vector<ChartSeries> curves;
  for (const ScoredTruths& one : scores) {
    if (!roc_curve(usable_rows(one)).empty()) curves.push_back(series_of(one));
  }
  std::vector<std::pair<std::string, Image>> charts;
  for (std::size_t first = 0; first < curves.size(); first += most_curves) {
    const std::size_t end = std::min(first + most_curves, curves.size());
    const auto at = [&](std::size_t place) { return curves.begin() + static_cast<std::ptrdiff_t>(place); };
    charts.emplace_back(charts.empty() ? "roc" : text("roc_", charts.size() + 1),
                        chart_of({at(first), at(end)}));
  }
  return charts;
}

}  // namespace larmor
