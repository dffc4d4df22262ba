// A trained network taken from a run: which checkpoint, and the task with its weights.
#pragma once

#include <memory>
#include <string>

#include "larmor/checkpoint/checkpoint.h"

#include "app/program.h"

namespace larmor::app {

/// "best", "last" or a path, as --checkpoint says; verified. Throws Error: checkpoint when it is damaged,
/// usage when there is none.
CheckpointEntry choose_checkpoint(const RunFolder& folder, const std::string& choice);

struct TrainedTask {
  LoadedStage loaded;
  CheckpointEntry checkpoint;
  std::unique_ptr<Task> task;  // weights and its own state loaded, evaluation mode
};
/// The run that the target names, with its overrides.
TrainedTask load_trained(Program& program, const std::string& checkpoint_choice, bool average);

}  // namespace larmor::app
