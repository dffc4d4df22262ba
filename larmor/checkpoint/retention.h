// Which checkpoints have served their time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "larmor/checkpoint/checkpoint.h"
#include "larmor/checkpoint/whole_checkpoints.h"

namespace larmor {

/// A folder's checkpoints, by what becomes of them. Only what has to be counted has been verified.
struct SortedCheckpoints {
  std::vector<CheckpointEntry> kept;     // whole, newest first
  std::vector<CheckpointEntry> damaged;  // as far as was read: they count for nothing and stay
  std::vector<CheckpointEntry> surplus;  // to be removed
  std::optional<CheckpointEntry> best;   // of all that are whole, kept or not
};

/// `committed`: the step of the checkpoint that has just been saved. It is the newest one then, and kept:
/// what has a higher number belongs to another line of the run, counts for nothing, and stays.
SortedCheckpoints sort_checkpoints(const std::filesystem::path& folder, const Retention& retention,
                                   std::optional<int64_t> committed, WholeCheckpoints& whole);

/// `last` and `best` of what is kept.
void link_kept(const SortedCheckpoints& sorted, const std::filesystem::path& folder, Storage& storage,
               bool lower_is_better);
/// Each out of sight in one step, so that a crash never leaves half a checkpoint under its name.
void remove_checkpoints(const std::vector<CheckpointEntry>& entries, const std::filesystem::path& folder,
                        Storage& storage);

}  // namespace larmor
