// `train W --try`: every phase of a run once, on a few cases, and what the whole run will take by what was
// measured.
#pragma once

#include "app/program.h"
#include "app/train/train_flags.h"

namespace larmor::app {

/// Its run lies in a temporary folder, which is removed, or named where a phase has failed. Blocks; the exit
/// status. Throws Error as a start of the run would, and usage for words that a trial cannot have.
int try_training(const Program& program, const TrainFlags& flags);

}  // namespace larmor::app
