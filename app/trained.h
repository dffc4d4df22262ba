// A trained network taken from a run: which checkpoint, and the task with its weights.
#pragma once

#include <memory>
#include <string>

#include "larmor/checkpoint/checkpoint.h"

#include "app/program.h"

namespace larmor::app {

/// "best", "last", a name or a path, as --checkpoint says; verified. Best and last are what the manifests
/// say, whatever the links point to; where it is not quite what was asked for, a warning says so. Throws
/// Error: checkpoint when it is damaged, usage when there is none.
CheckpointEntry choose_checkpoint(const RunFolder& folder, const std::string& choice, bool lower_is_better);

struct TrainedTask {
  LoadedStage loaded;
  CheckpointEntry checkpoint;
  std::unique_ptr<Task> task;  // weights and its own state loaded, evaluation mode
};
/// The run that the target names, with its overrides.
TrainedTask load_trained(Program& program, const std::string& checkpoint_choice, bool average);

}  // namespace larmor::app
