#include "workloads/survival/risk/survival_outcomes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor::survival {

std::size_t SurvivalOutcomes::events() const {
  return static_cast<std::size_t>(std::ranges::count(event, uint8_t{1}));
}

void SurvivalOutcomes::check(const char* source) const {
  if (time.size() != event.size())
    fail(Exit::data, text(source, " has ", time.size(), " times and ", event.size(), " events"),
         "give one time and one event for each row");
  for (std::size_t row = 0; row < time.size(); ++row) {
    if (!std::isfinite(time[row]) || time[row] < 0)
      fail(Exit::data, text(source, ", row ", row + 1, ": the time is ", time[row]),
           "times are finite and not negative; correct the row or take it out");
    if (event[row] > 1)
      fail(Exit::data, text(source, ", row ", row + 1, ": the event is ", event[row]),
           "events are 1, or 0 for censored; correct the row or take it out");
  }
}

std::vector<double> numbers_in(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* first = values.const_data_ptr<double>();
  return {first, first + values.numel()};
}

SurvivalOutcomes outcomes_in(const at::Tensor& time, const at::Tensor& event) {
  SurvivalOutcomes outcomes{.time = numbers_in(time), .event = {}};
  for (const double value : numbers_in(event)) {
    // A fraction would turn into 0 or 1 in silence.
    const bool known = value == 0 || value == 1;
    outcomes.event.push_back(known ? static_cast<uint8_t>(value) : uint8_t{2});
  }
  return outcomes;
}

SurvivalOutcomes rows_of(const SurvivalOutcomes& outcomes, std::span<const std::size_t> rows) {
  SurvivalOutcomes chosen;
  chosen.time.reserve(rows.size());
  chosen.event.reserve(rows.size());
  for (const std::size_t row : rows) {
    chosen.time.push_back(outcomes.time[row]);
    chosen.event.push_back(outcomes.event[row]);
  }
  return chosen;
}

std::vector<std::size_t> ascending_order(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return values[row]; });
  return order;
}

void check_log_risk(std::span<const double> log_risk, const SurvivalOutcomes& outcomes) {
  if (log_risk.size() != outcomes.size())
    fail(Exit::data, text("there are ", log_risk.size(), " predictions for ", outcomes.size(), " patients"),
         "give one log-risk for each row of the table");
  const auto broken = std::ranges::find_if(log_risk, [](double value) { return !std::isfinite(value); });
  if (broken != log_risk.end())
    fail(Exit::data, text("the prediction of row ", broken - log_risk.begin() + 1, " is ", *broken),
         "a network whose predictions are not finite has diverged: go back to an earlier checkpoint");
}

}  // namespace larmor::survival
