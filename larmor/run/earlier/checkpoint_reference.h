// RUN, RUN#best, RUN#last, RUN#step-… or the folder of a checkpoint: how a person names weights that another
// run has trained.
#pragma once

#include <filesystem>
#include <string>

#include "larmor/base/json.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/run/run_folder.h"
#include "larmor/task/workload.h"

namespace larmor {

/// A run, and which of its checkpoints.
struct CheckpointReference {
  RunFolder run;
  std::string choice = "best";        // best, last, or a name
  std::filesystem::path folder = {};  // of the checkpoint, where that was named
};

/// Messages begin with the `key` that the words are of. Throws Error (usage) where there is no such run.
CheckpointReference find_reference(const std::string& key, const std::string& words,
                                   const std::filesystem::path& runs);
/// Throws Error (usage) unless the run is of that stage.
void check_stage(const std::string& key, const RunFolder& run, const Workload& workload,
                 const std::string& stage);

/// A checkpoint, and whether it is there for being the best: a run of which none has a validation gives its
/// last.
struct ChosenCheckpoint {
  CheckpointEntry entry;
  std::string why;  // "best", "last", or ""
};
/// The checkpoint, as open_checkpoint(). Throws Error (usage) where there is none.
ChosenCheckpoint choose(const std::string& key, const CheckpointReference& reference, bool lower_is_better);
/// Reads every byte of it. Throws Error (checkpoint) where it is damaged.
CheckpointEntry require_whole(const std::string& key, const CheckpointReference& reference,
                              const CheckpointEntry& entry);

/// The hash that a checkpoint's manifest has of a file; "" where the file is not in it.
std::string hash_in(const CheckpointEntry& entry, const std::string& name);

}  // namespace larmor
