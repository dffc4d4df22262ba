// The parent's work before any rank starts: everything is checked, decided and written down, and no device
// or port has been touched.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "larmor/base/files/file.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/config/load.h"
#include "larmor/data/index/index.h"
#include "larmor/hardware/hardware.h"
#include "larmor/plan/plan.h"
#include "larmor/run/loaded_stage.h"
#include "larmor/run/resume_point.h"
#include "larmor/run/run_change.h"
#include "larmor/run/run_folder.h"
#include "larmor/task/workload.h"

namespace larmor {

/// How a start of a run differs from any other.
struct StartOptions {
  ResumeChoice resume = {};
  std::optional<Hardware> hardware = {};  // of all hosts that take part; nothing: this host
  std::optional<FileLock> lock = {};      // of the run's folder, where it is held already
  /// The scheduler's or launcher's own name of what we are part of, which outlives a requeue or its restart
  /// of us; "" for none. With `again`, a run without a name of its own is the newest one of this
  /// configuration that the same job started, and `resume` is not done again: the words are those of the
  /// start before.
  std::string job = {};
  bool again = false;
  std::vector<std::string> changes = {};  // key=value of `train RUN`
  std::optional<int64_t> led = {};        // the generation that this process has led before
  bool accept_config = false;             // a config.yaml that was edited
  bool goes_on_without_room = false;      // on disks that will not hold what the run writes
  std::optional<int64_t> cases = {};      // that a new run learns from; nothing: all (keep_few())
};

/// A run that is ready to start.
struct PreparedRun {
  RunFolder folder;
  LoadedConfig config;
  Hardware hardware;
  Demand demand;
  Plan plan;
  Index index;
  std::optional<CheckpointEntry> resume_from;
  Json earlier;  // record_of_earlier(): for environment.json
  int64_t generation = 0;
  bool already_done = false;
  std::vector<RunChange> changes;  // of this start and of earlier ones
  std::vector<std::string> notes;  // for people: what was resumed, what was passed over
  std::optional<FileLock> lock;    // held as long as this lives
};

/// What a run would be, without a folder: for `plan`, `prepare` and --dry-run.
struct RunDraft {
  Hardware hardware;
  Index index;
  Demand demand;
  Plan plan;
};
RunDraft draft_run(const LoadedStage& loaded, const std::optional<Hardware>& hardware = {});
/// The draft of these cases.
RunDraft draft_run(const LoadedStage& loaded, Index index, const std::optional<Hardware>& hardware);

/// Writes the values that were `auto` into the config as the plan chose them.
void freeze_plan(LoadedConfig& config, const Plan& plan);

/// Makes the run folder of a new run, or takes up an unfinished one of the same name and config, and keeps
/// out ranks of its earlier generations. `asked` is of `workload`; `existing` is set for `train RUN`. Throws
/// Error: usage when the config differs (listing the keys), environment when the folder is in use or cannot
/// be written, data when the data have changed, checkpoint when no good one is left, or the one asked for is
/// not whole.
PreparedRun prepare_run(const Workload& workload, LoadedStage asked, const std::optional<RunFolder>& existing,
                        StartOptions start, Storage& storage, const Clock& clock);

}  // namespace larmor
