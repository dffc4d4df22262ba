// A stage that has read its config.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "larmor/config/load.h"
#include "larmor/run/run_folder.h"
#include "larmor/task/stage.h"
#include "larmor/task/workload.h"

namespace larmor {

/// Both come from one reading: who reads another config makes another stage.
struct LoadedStage {
  std::unique_ptr<const Stage> stage;  // holds the values of its own fields
  LoadedConfig config;                 // of all fields, its own included
};

/// A stage's own fields, and the stages that it needs.
WorkloadFields fields_of(const Workload& workload, const std::string& name, Stage& stage);

/// A new stage of the workload. Throws Error as Workload::stage() and load_config(). Not checked: what the
/// config's notes say is for a person to hear before what Stage::check() refuses. `earlier`: the runs of the
/// stages that it needs; null: those that the config names, which are looked for when they are first asked
/// for. `place`: the folder below which its run has kept files; empty: it has no run.
LoadedStage load_stage(const Sources& sources, const Workload& workload, const std::string& stage,
                       std::shared_ptr<const EarlierRuns> earlier = nullptr,
                       const std::filesystem::path& place = {});

/// The name of the workload that a run folder belongs to.
std::string workload_of(const RunFolder& folder);
/// The stage of it.
std::string stage_of(const RunFolder& folder);
/// A run's stage with the run's resolved config, `overrides` (key=value) on top, and with what the run has
/// kept of earlier stages; checked.
LoadedStage load_run_stage(const RunFolder& folder, const Workload& workload,
                           const std::vector<std::string>& overrides = {});

}  // namespace larmor
