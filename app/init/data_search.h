// Which keys of `data` a folder asks for: it is indexed as `train` does it, by one kind of data after
// another.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/run/run_setup.h"

#include "app/program.h"

namespace larmor::app {

struct FoundData {
  std::vector<std::string> keys;  // "data.kind=nifti", "data.folder=/…"
  RunConfig config;               // of a run with them
  RunDraft draft;                 // of the same
};

/// The data of a run with the program's words, its configs and keys among them. Throws Error: data with what
/// lies in the folder instead, and whatever a start of that run would throw.
FoundData search_data(Program& program, const Workload& workload, const std::filesystem::path& folder);

}  // namespace larmor::app
