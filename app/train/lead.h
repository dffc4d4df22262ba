// The leader of a run's agents: prepares the run, has its ranks started on all hosts, and starts them again.
#pragma once

#include <optional>

#include "larmor/run/loaded_stage.h"
#include "larmor/run/run_folder.h"
#include "larmor/task/workload.h"

#include "app/program.h"
#include "app/train/agent.h"
#include "app/train/train_flags.h"

namespace larmor::app {

/// What `train` was asked to do, the same for every agent of a start.
struct TrainRequest {
  Program& program;
  const TrainFlags& flags;
  const Workload& workload;
  LoadedStage loaded;
  std::optional<RunFolder> existing;  // `train RUN`
};

/// Blocks until the run has ended; the exit status.
int lead(TrainRequest request, Agent agent);
/// Does as the leader says until it ends the run; the exit status.
int follow(const TrainRequest& request, Agent agent);

}  // namespace larmor::app
