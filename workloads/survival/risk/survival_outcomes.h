// What is known of each patient: how long they were followed, and whether the event ended it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

namespace larmor::survival {

/// One row a patient. Times of all tables that are compared share a unit.
struct SurvivalOutcomes {
  std::vector<double> time;    // of the event, or of the last time seen
  std::vector<uint8_t> event;  // 1 where the event happened, 0 where the patient was censored

  std::size_t size() const { return time.size(); }
  std::size_t events() const;
  /// Throws Error (data): columns of different lengths, events other than 0 and 1, times that are missing,
  /// infinite or negative. `source` names the table in the message.
  void check(const char* source) const;
};

/// Reads them from columns of a batch; an event that is neither 0 nor 1 becomes 2, which check() refuses.
SurvivalOutcomes outcomes_in(const at::Tensor& time, const at::Tensor& event);
/// A tensor's values in their order, from any device and type.
std::vector<double> numbers_in(const at::Tensor& tensor);

/// The rows `rows`, in their order; a row may come more than once.
SurvivalOutcomes rows_of(const SurvivalOutcomes& outcomes, std::span<const std::size_t> rows);

/// Positions of `values` in ascending order; equal values keep their order.
std::vector<std::size_t> ascending_order(std::span<const double> values);

/// Throws Error (data) when a prediction is missing or infinite, or their number is not that of the rows.
void check_log_risk(std::span<const double> log_risk, const SurvivalOutcomes& outcomes);

}  // namespace larmor::survival
