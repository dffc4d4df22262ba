// What a checkpoint holds of a task: the weights of its networks, their averages, and what the task itself
// keeps.
#pragma once

#include <string>

#include "larmor/checkpoint/checkpoint.h"
#include "larmor/task/task.h"

namespace larmor {

/// Where an objective's weights lie in a checkpoint, the first objective's being those that predict.
std::string weights_file(const std::string& objective, bool is_first);
/// The same of the averages of its weights.
std::string averages_file(const std::string& objective, bool is_first);

/// Throws Error (checkpoint) where verification has found damage.
void require_undamaged(const CheckpointEntry& entry);

/// Puts the weights of all objectives into a task that learns from there, and what the task itself keeps; of
/// the predicting network the averaged ones, where they are meant. Requires: a verified checkpoint, whose
/// damage throws as above. Throws Error (checkpoint) when it does not fit.
void begin_with(const CheckpointEntry& entry, bool average, Task& task);
/// Only what the task itself keeps, as Task::load(). Throws Error (checkpoint) when it does not fit.
void restore_task(const CheckpointEntry& entry, Task& task, bool of_average);

bool has_average(const CheckpointEntry& entry);
/// Only the weights of the predicting network, or its average. Throws Error (usage) where no average was
/// kept.
NamedTensors read_weights(const CheckpointEntry& entry, bool average);

}  // namespace larmor
