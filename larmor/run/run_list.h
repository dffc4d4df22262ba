// The runs of a folder: what each of them is, who needs it, and how it is taken away.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/files/storage.h"
#include "larmor/run/run_folder.h"
#include "larmor/task/workload.h"

namespace larmor {

/// The folders of runs, by name, links left out; and what is left of runs whose removal was cut.
std::vector<RunFolder> runs_in(const std::filesystem::path& runs);

struct RunOutline {
  std::string workload, stage;      // "" where environment.json cannot be read
  std::string state;                // done, failed, unfinished, or removed in part
  std::optional<int64_t> step;      // of its newest checkpoint
  std::vector<std::string> pinned;  // its checkpoints that are
};
RunOutline outline_of(const RunFolder& folder);

/// Which of `others` need the folder for what they have yet to do: one that began from it and has no copy, or
/// goes on from one of its checkpoints; of a chain the run of the next stage, which waits for it.
std::vector<RunFolder> who_needs(const RunFolder& folder, const std::vector<RunFolder>& others,
                                 const std::vector<Workload>& workloads);

/// Takes away what this program has written there, and the folder unless something else lies in it; gives
/// whether it is gone. The link `latest` then leads to the run of those beside it that was started last.
/// Requires: its lock is held, or it is what was left of a removal. Throws Error (environment).
bool remove_run(const RunFolder& folder, Storage& storage);

/// Whether it is the rest of a run whose removal was cut.
bool is_left_of_removal(const RunFolder& folder);

}  // namespace larmor
