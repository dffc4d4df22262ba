// From the live parts of a run to what a checkpoint stores, and back.
#pragma once

#include <string>
#include <vector>

#include "larmor/checkpoint/checkpoint.h"
#include "larmor/task/task.h"
#include "larmor/train/learner.h"
#include "larmor/train/trainer_state.h"

namespace larmor {

/// model.safetensors is the predicting network alone; the others' files carry their objective's name.
/// Rank 0 holds the weights, each rank its part of the optimizer state. Throws Error (rank_lost) on every
/// rank where replicas are no longer equal. Collective.
Snapshot take_snapshot(const Task& task, const std::vector<Learner>& learners, const TrainerState& state,
                       int rank);

/// Puts a verified checkpoint back. Throws Error (checkpoint) when verification has found damage, or it does
/// not fit.
TrainerState restore(const CheckpointEntry& entry, Task& task, std::vector<Learner>& learners);

/// The states of all optimizers, of any number of ranks, and the averages of weights: where the checkpoint
/// has none they begin at its weights.
void restore_optimizers(const CheckpointEntry& entry, std::vector<Learner>& learners);

}  // namespace larmor
