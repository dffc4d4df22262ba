// A step before training, for its memory alone: what the planner foresaw against what it takes.
#pragma once

#include "larmor/comm/communicator.h"
#include "larmor/task/stage.h"

namespace larmor {

/// Whether `plan` is to be probed: as asked, and otherwise on GPUs, where memory is short.
bool is_probed(const RunConfig& config, const Plan& plan);

/// Trains two steps that nobody keeps, with weights, optimizer and group of their own, on every rank: first
/// on two samples, which foretell what the plan's micro-batch takes, then on that. Takes smaller ones where
/// one would surely not fit, or where a rank finds no room, until all do. The plan that comes of it, with
/// memory.predicted, memory.measured and a reason. Throws Error (memory) where not even one example fits.
/// Collective.
Plan probe_memory(const Stage& stage, const RunConfig& config, const Plan& plan, const Index& index,
                  Communicator& communicator);

}  // namespace larmor
