// A process that an agent has started as a rank, or as all ranks (parallel.strategy=dp).
#pragma once

#include "larmor/launch/rank.h"

#include "app/program.h"
#include "app/train/train_flags.h"

namespace larmor::app {

/// The leader has prepared the run folder, which is the target.
int train_as_rank(Program& program, const TrainFlags& flags, const Rank& rank);

}  // namespace larmor::app
