// From the live parts of a run to what a checkpoint stores, and back.
#pragma once

#include <string>
#include <vector>

#include "larmor/checkpoint/checkpoint.h"
#include "larmor/train/learner.h"
#include "larmor/train/task.h"
#include "larmor/train/trainer.h"

namespace larmor {

/// model.safetensors is the predicting network alone; the others' files carry their objective's name.
/// Rank 0 holds the weights, each rank its part of the optimizer state.
Snapshot take_snapshot(const Task& task, const std::vector<Learner>& learners, const TrainerState& state,
                       int rank);

/// Puts a verified checkpoint back. Throws Error (checkpoint) when verification has found damage, or it does
/// not fit.
TrainerState restore(const CheckpointEntry& entry, Task& task, std::vector<Learner>& learners);

/// Puts the weights of all objectives into a task that learns from there, and what the task itself keeps; of
/// the predicting network the averaged ones, where they are meant. Requires: a verified checkpoint, whose
/// damage throws as above. Throws Error (checkpoint) when it does not fit.
void begin_with(const CheckpointEntry& entry, bool average, Task& task);
/// The states of all optimizers, of any number of ranks, and the averages of weights: where the checkpoint
/// has none they begin at its weights.
void restore_optimizers(const CheckpointEntry& entry, std::vector<Learner>& learners);
/// Where an objective's weights lie in a checkpoint, the first objective's being those that predict.
std::string weights_file(const std::string& objective, bool is_first);

/// Only what the task itself keeps, as Task::load(). Throws Error (checkpoint) when it does not fit.
void restore_task(const CheckpointEntry& entry, Task& task, bool of_average);

bool has_average(const CheckpointEntry& entry);
/// Only the weights of the predicting network, or its average. Throws Error (usage) where no average was
/// kept.
NamedTensors read_weights(const CheckpointEntry& entry, bool average);

}  // namespace larmor
