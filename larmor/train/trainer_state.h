// How far the loop has come, as a checkpoint carries it, and how it has ended.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "larmor/base/json.h"
#include "larmor/optim/schedule.h"
#include "larmor/run/timetable.h"

namespace larmor {

/// What a validation that a stop has cut leaves to the next start, which does it before anything else.
struct DueValidation {
  bool pictures = false, checkpoint = false;  // that are due with it
};

/// What of the loop itself a checkpoint carries.
struct TrainerState {
  Progress progress;
  int64_t non_finite_steps = 0;
  std::optional<double> best_metric;
  int64_t best_step = 0;
  int64_t validations_without_gain = 0;
  std::map<std::string, Plateau> plateaus;  // of the objectives whose schedules go by validations
  int64_t micro_batch = 0;                  // smaller than the plan's, since memory ran out; 0: the plan's
  std::optional<DueValidation> due_validation;  // of the step that has been done
  std::set<std::string> told;                   // of what is said once a run (judge/figure_watch.h)
};
Json to_json(const TrainerState& state);
TrainerState trainer_state_from_json(const Json& json);

/// Why no step is begun any more.
enum class StopReason { length_reached, stopped_early, step_limit, signal };  // where time was up: signal

/// How a run of the loop ended.
struct TrainingEnd {
  using Reason = StopReason;
  Reason reason = Reason::length_reached;
  std::string words;  // on rank 0, what more there is to say of the reason; may be empty
  TrainerState state;
};

}  // namespace larmor
