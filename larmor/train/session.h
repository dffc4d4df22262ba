// One rank's life: builds its parts in the order of the house, runs the trainer, and takes them down.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "larmor/comm/communicator.h"
#include "larmor/judge/stoppable_work.h"
#include "larmor/launch/rank.h"
#include "larmor/run/loaded_stage.h"
#include "larmor/run/run_folder.h"
#include "larmor/track/tracker.h"
#include "larmor/train/trainer_state.h"
#include "larmor/watch/status_board.h"

namespace larmor {

/// What a rank is told beside what lies in the run folder.
struct SessionOptions {
  RunFolder folder;                                  // config.yaml, plan.json and index.json are there
  std::optional<std::filesystem::path> resume_from;  // a verified checkpoint
  std::optional<int64_t> step_limit;
  std::optional<ConsoleOptions> console;  // rank 0 speaks; nothing: silent
  // For train.stop_before, in seconds since the epoch: when the scheduler ends the job, and when the run was
  // started, earlier generations of the same start included (now, where nothing is given).
  std::optional<double> ends_at, started_at;
  /// Called when what is lost by a sudden end begins: up to then a signal may end the process.
  std::function<void()> before_training = [] {};
  bool tries_out = false;                  // Trainer::try_out(), where the run is new
  StopAsked stop_asked = asked_by_signal;  // what ends training soon, with a checkpoint
};

/// What the parent reports when a run has ended.
struct SessionEnd {
  TrainingEnd training;
  double epochs = 0;
  double seconds = 0;
};

/// Collective. Blocks. `loaded` is the folder's (load_run_stage); ranks that are threads may share it. Throws
/// what agree_on_start() does, before anything is done; Error (rank_lost) when a later generation has taken
/// over.
SessionEnd run_session(const LoadedStage& loaded, const Plan& plan, const Index& index, const Rank& rank,
                       std::unique_ptr<Communicator> communicator, const SessionOptions& options);

/// How training ended, as the parent reads it from the last "end" line of events.jsonl: steps, epochs,
/// seconds, best {step, value}, reason.
Json read_end(const RunFolder& folder);

}  // namespace larmor
