// The groups in which a stage's parameters learn, as `config explain` shows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/config/run_config.h"

namespace larmor {

class Task;

/// Parameters of one objective that learn alike.
struct ObjectiveGroup {
  std::string objective;
  std::string first;       // of their names
  int64_t parameters = 0;  // how many, and the numbers in them
  int64_t numbers = 0;
  double rate = 1;           // a factor of the schedule's learning rate
  double learning_rate = 0;  // rate × the objective's optim.learning_rate
  double weight_decay = 0;
  bool operator==(const ObjectiveGroup&) const = default;
};

/// The groups of those objectives that have rules, in the order of the objectives and of their parameters.
/// Shapes are enough: the task's networks may be on the meta device. Throws as traits_of().
std::vector<ObjectiveGroup> objective_groups(Task& task, const RunConfig& config);

Json to_json(const std::vector<ObjectiveGroup>& groups);
/// A group as a person reads it: "network: 12 parameters (3456 numbers), the first encoder.weight: learning
/// rate …".
std::string describe(const ObjectiveGroup& group);

}  // namespace larmor
