// What has been changed of a run since it was begun, as environment.json tells it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/config/load.h"
#include "larmor/run/run_folder.h"

namespace larmor {

struct RunChange {
  int64_t generation = 0;  // the start that brought it
  std::string words;       // "train.length was 60st and is 90st"
  bool is_bitwise = true;  // whether the run's bits are still those of its configuration
};

/// Those that environment.json names under "changes".
std::vector<RunChange> changes_of(const Json& environment);
Json to_json(const std::vector<RunChange>& changes);

/// The values of a config that a later start has to find as they are: ["run.seed=42", …], for "config" in
/// environment.json.
Json values_to_find(const LoadedConfig& config);
/// Keys whose values are not what environment.json says they were. None where it says nothing, as those of
/// earlier versions.
std::vector<KeyDifference> edits_of(const LoadedConfig& config, const Json& environment);
/// Throws Error (environment) where the folder's config.yaml lacks its end.
void refuse_cut_config(const RunFolder& folder, const Json& environment);

}  // namespace larmor
