#include "workloads/survival/risk/time_scale.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::survival {
namespace {

/// Between which times something can be said.
struct Reach {
  double first_event, last_time;
  bool holds(double time) const { return time >= first_event && time < last_time; }
};

std::vector<double> event_times(const SurvivalOutcomes& outcomes) {
  std::vector<double> times;
  for (std::size_t row = 0; row < outcomes.size(); ++row) {
    if (outcomes.event[row] != 0) times.push_back(outcomes.time[row]);
  }
  std::ranges::sort(times);
  return times;
}

std::vector<Horizon> quartiles(const std::vector<double>& events, std::string_view unit, const Reach& reach) {
  std::vector<Horizon> horizons;
  for (const std::size_t quarter : {1U, 2U, 3U}) {
    const double time = events[std::min(events.size() * quarter / 4, events.size() - 1)];
    if (!reach.holds(time) || (!horizons.empty() && horizons.back().time == time)) continue;
    horizons.push_back({text(time, unit), time});
  }
  return horizons;
}

std::vector<Horizon> whole_years(std::string_view unit, const Reach& reach) {
  std::vector<Horizon> horizons;
  for (int year = 1; year <= 5; ++year) {
    const auto horizon = horizon_of(text(year, "y"), unit);
    if (reach.holds(horizon.time)) horizons.push_back(horizon);
  }
  return horizons;
}

}  // namespace

double days_of(std::string_view unit) {
  constexpr double year = 365.25;
  if (unit == "d") return 1;
  if (unit == "w") return 7;
  if (unit == "m") return year / 12;
  if (unit == "y") return year;
  fail(Exit::usage, text("there is no unit of time ", unit), "say d, w, m or y");
}

std::string_view name_of_unit(std::string_view unit) {
  return unit == "d" ? "days" : unit == "w" ? "weeks" : unit == "m" ? "months" : "years";
}

Horizon horizon_of(const std::string& written, std::string_view table_unit) {
  double amount = 0;
  const auto* const end = written.data() + written.size();
  const auto [rest, error] = std::from_chars(written.data(), end, amount);
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  const bool is_time = error == std::errc() && std::isfinite(amount) && amount > 0 &&
                       (unit == "d" || unit == "w" || unit == "m" || unit == "y");
  if (!is_time) {
    fail(Exit::usage, text("data.horizons holds \"", written, "\", which is no time with a unit"),
         "write a number and d, w, m or y: 5y, 18m, 1800d");
  }
  return {written, amount * days_of(unit) / days_of(table_unit)};
}

std::vector<Horizon> choose_horizons(const std::vector<std::string>& asked, std::string_view table_unit,
                                     const SurvivalOutcomes& training) {
  std::vector<Horizon> horizons;
  for (const std::string& written : asked) horizons.push_back(horizon_of(written, table_unit));
  std::ranges::sort(horizons, {}, &Horizon::time);
  const auto twice = std::ranges::adjacent_find(horizons, {}, &Horizon::time);
  if (twice != horizons.end())
    fail(Exit::usage, text("data.horizons holds ", twice->name, " twice"), "say it once");
  const auto events = event_times(training);
  if (events.empty()) return {};
  const Reach reach{.first_event = events.front(), .last_time = std::ranges::max(training.time)};
  if (asked.empty()) {
    horizons = whole_years(table_unit, reach);
    return horizons.size() >= 2 ? horizons : quartiles(events, table_unit, reach);
  }
  for (const auto& horizon : horizons) {
    if (reach.holds(horizon.time)) continue;
    fail(Exit::data,
         text("the horizon ", horizon.name, " is ", horizon.time, table_unit,
              " in the table's unit, and the training cases have their first event at ", reach.first_event,
              table_unit, " and are followed to ", reach.last_time, table_unit),
         text("choose data.horizons in between, or correct data.time_unit (", table_unit, ")"));
  }
  return horizons;
}

}  // namespace larmor::survival
