#include "larmor/train/stops.h"

#include <cmath>

#include <ATen/ATen.h>

namespace larmor {

bool Stops::is_asked() {
  const auto& parts = loop_.parts;
  if (parts.communicator.is_first() && !time_is_up_)
    time_is_up_ = parts.time_left.must_stop(parts.clock.steady_seconds(), longest_step_, seconds_to_save(),
                                            validation_to_come());
  return time_is_up_ || !parts.stop_asked().empty();
}

void Stops::ask_ranks() {
  auto& communicator = loop_.parts.communicator;
  const auto asked = at::full({1}, is_asked() ? 1.0 : 0.0, at::TensorOptions(communicator.device()));
  communicator.all_reduce(asked, Reduce::sum).wait();
  is_stopped_ = is_stopped_ || asked.item<double>() > 0;
}

StopAsked Stops::asks_validation() {
  const auto& parts = loop_.parts;
  // Rank 0's clock decides; each rank counts from here.
  const auto left =
      at::full({1}, parts.time_left.seconds_before_save(parts.clock.steady_seconds(), seconds_to_save()),
               at::TensorOptions().dtype(at::kDouble).device(parts.communicator.device()));
  parts.communicator.broadcast(left, 0).wait();
  const double end = parts.clock.steady_seconds() + left.item<double>();
  return [this, end] {
    if (loop_.parts.clock.steady_seconds() < end) return loop_.parts.stop_asked();
    time_is_up_ = true;
    return loop_.parts.time_left.words();
  };
}

void Stops::note_stopped_validation() {
  is_stopped_ = true;
  time_is_up_ = time_is_up_ || loop_.parts.stop_asked().empty();
}

std::optional<StopReason> Stops::reason() const {
  const auto& parts = loop_.parts;
  const auto& state = loop_.state;
  const auto patience = parts.config.train.early_stopping;
  if (parts.timetable.finished(state.progress) && !state.due_validation) return StopReason::length_reached;
  if (is_stopped_) return StopReason::signal;
  if (parts.step_limit && state.progress.step >= *parts.step_limit) return StopReason::step_limit;
  if (patience > 0 && state.validations_without_gain >= patience) return StopReason::stopped_early;
  return std::nullopt;
}

std::string Stops::words(StopReason reason) const {
  return reason == StopReason::signal && time_is_up_ ? loop_.parts.time_left.words() : std::string();
}

double Stops::seconds_to_save() const {
  const auto& memory = loop_.plan.memory;
  return saves_.seconds_outstanding(memory.weights + memory.optimizer + memory.offloaded);
}

double Stops::validation_to_come() const {
  const auto& parts = loop_.parts;
  const auto cases = parts.validation_cases.size();
  if (cases == 0) return 0;
  const Progress now = loop_.state.progress;
  const Progress later{.step = now.step + 2,
                       .examples = now.examples + 2 * loop_.plan.global_batch,
                       .elapsed_seconds = now.elapsed_seconds + 2 * longest_step_};
  if (!parts.timetable.due(parts.config.train.validate_every, now, later) && !parts.timetable.finished(later))
    return 0;
  if (longest_validation_ > 0) return longest_validation_;
  // Nothing is known of it yet but that a case hardly takes longer than a step.
  const double rounds = std::ceil(static_cast<double>(cases) / parts.communicator.size());
  return rounds * longest_step_;
}

}  // namespace larmor
