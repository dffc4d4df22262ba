// What the figures look like: whether patients of higher predicted risk have their events earlier, and
// whether as many have them as predicted.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/image.h"

#include "workloads/survival/risk/survival_outcomes.h"

namespace larmor::survival {

struct RiskGroup {
  std::string name;               // low, middle or high
  std::vector<std::size_t> rows;  // by ascending risk
};

/// Thirds of the patients by ascending risk. Patients of equal risk stay together, in the higher group;
/// groups of fewer than five are left out.
std::vector<RiskGroup> risk_groups(std::span<const double> log_risk);

/// Kaplan and Meier's curve of each risk group, with a tick where a patient was censored unless there are
/// more than a hundred. `time_unit` is written below the axis: "years". Nothing where there are fewer than
/// two groups. Throws Error (data) as SurvivalOutcomes::check and check_log_risk.
std::optional<Image> risk_group_picture(std::span<const double> log_risk, const SurvivalOutcomes& outcomes,
                                        std::string_view time_unit);

/// Why there is no such picture, for a person. Requires: there is none.
std::string why_no_risk_groups(std::span<const double> log_risk);

/// The probability of the event by a horizon.
struct CalibrationGroup {
  double predicted;  // mean over the patients
  double observed;   // 1 - Kaplan and Meier's
  std::size_t patients;
};

/// Fifths of the patients by ascending prediction, or fewer parts where a fifth has not ten patients; equal
/// predictions stay together. Left out: groups of fewer than ten, and those that were not followed up to the
/// horizon. survival: predicted probability of each patient to be without event at `horizon`, which is in the
/// unit of the times. Throws Error (data) as SurvivalOutcomes::check, for a horizon that is none, for
/// probabilities that are none, and for another number of them.
std::vector<CalibrationGroup> calibration_groups(std::span<const double> survival,
                                                 const SurvivalOutcomes& outcomes, double horizon);

/// The groups beside the line on which they should lie. `horizon_name` stands in the titles: "2y". Nothing
/// where there is no group.
std::optional<Image> calibration_picture(std::span<const double> survival, const SurvivalOutcomes& outcomes,
                                         double horizon, std::string_view horizon_name);

/// Why there is no such picture of these horizons ("2y, 5y"), for a person. Requires: there is none.
std::string why_no_calibration(const SurvivalOutcomes& outcomes, std::string_view horizon_names,
                               std::string_view time_unit);

}  // namespace larmor::survival
