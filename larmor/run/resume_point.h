// Where a start of a run goes on from, and what becomes of the checkpoints that it leaves behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/files/storage.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/run/run_folder.h"

namespace larmor {

/// What --resume says.
struct ResumeChoice {
  enum class Kind { automatic, never, path };
  Kind kind = Kind::automatic;
  std::filesystem::path path = {};  // of a checkpoint
};
/// "auto", "never" or the path.
std::string to_text(const ResumeChoice& choice);

struct ResumePoint {
  std::optional<CheckpointEntry> entry;  // verified; nothing: from the first step on
  /// Where the entry is no checkpoint of the run's own: its folder. It stays the run's beginning until the
  /// run has saved a later one.
  std::filesystem::path origin;
  std::vector<CheckpointEntry> damaged;  // newer ones that were passed over
  std::vector<CheckpointEntry> left;  // newer ones, or others of its step, which the choice goes back behind
  bool starts_anew = false;           // leaves all of them behind
};

/// Reads, and changes nothing. `origin`: of earlier starts, or empty. Throws Error (checkpoint) when the one
/// that was asked for is not whole, or none is.
ResumePoint find_resume_point(const RunFolder& folder, const ResumeChoice& choice,
                              const std::filesystem::path& origin);

/// Sets aside what the point leaves behind, takes the entry back into checkpoints/ where an earlier start has
/// set it aside, and renews the links. Gives a sentence for each thing that a person should hear of.
/// Requires: no rank of an earlier generation writes any more.
std::vector<std::string> settle_resume_point(ResumePoint& point, const RunFolder& folder, int64_t generation,
                                             bool lower_is_better, Storage& storage);

/// Whether the checkpoint lies among the run's own.
bool is_own_checkpoint(const RunFolder& folder, const CheckpointEntry& entry);

/// Whether the start that saved the checkpoint had this configuration, and these data and splits: its best
/// value and its patience say nothing about a run that has others.
struct SameOrigin {
  bool config = true, index = true;
  bool both() const { return config && index; }
};
SameOrigin compare_origin(const CheckpointEntry& entry, const std::string& config_sha256,
                          const std::string& index_sha256);

}  // namespace larmor
