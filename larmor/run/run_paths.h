// Where a run's data are, from whatever folder it is looked at and wherever it was moved to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/config/load.h"
#include "larmor/run/run_folder.h"

namespace larmor {

/// The paths for environment.json: where the run lies ("root"), and the files and folders that its config
/// names ("paths"), all of them absolute.
void note_paths(Json& environment, const RunFolder& folder, const LoadedConfig& config);

/// The paths of a run, for Sources::find_path: where they were at its last start; where they lie as seen from
/// the run, which was moved together with them; or where they are as seen from here. Of these the first that
/// is there, or else the first. Keys that `overrides` name are left to the person.
std::function<std::string(const std::string& key, const std::string& said)> find_paths(
    const RunFolder& folder, const Json& environment, const std::vector<std::string>& overrides);

}  // namespace larmor
