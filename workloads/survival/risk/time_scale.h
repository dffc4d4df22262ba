// Times with units: "5y", "1800d".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workloads/survival/risk/survival_outcomes.h"

namespace larmor::survival {

/// Days in a unit: d, w, m (a twelfth of a year) or y (365.25 days). Throws Error (usage) for another word.
double days_of(std::string_view unit);

/// "days", "weeks", …
std::string_view name_of_unit(std::string_view unit);

/// A time at which predictions are judged.
struct Horizon {
  std::string name;  // as it was written: "5y"
  double time = 0;   // in the table's unit
};

/// A number and a unit, in `table_unit`. Throws Error (usage) naming data.horizons.
Horizon horizon_of(const std::string& written, std::string_view table_unit);

/// The horizons that were asked for, ascending; each has to lie behind the first event and before the end of
/// follow-up of the training table, or else nothing could be said of it. With none asked for: those of one to
/// five years that do, and where these are fewer than two the quartiles of the training events' times. Throws
/// Error: usage for what is no time, or comes twice; data for what the table does not reach.
std::vector<Horizon> choose_horizons(const std::vector<std::string>& asked, std::string_view table_unit,
                                     const SurvivalOutcomes& training);

}  // namespace larmor::survival
