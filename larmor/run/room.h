// Whether the disks have room for what a run will write, asked before it begins.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/cache/cache_filling.h"
#include "larmor/plan/plan.h"
#include "larmor/run/run_folder.h"
#include "larmor/task/stage.h"

namespace larmor {

/// What will lie below a folder beside what lies there now.
struct RoomNeed {
  std::string what;              // "checkpoints of 1.2 GiB each"
  std::filesystem::path folder;  // need not be there yet
  uint64_t certain_bytes = 0;    // at some time of the run, at least
  uint64_t likely_bytes = 0;     // at most
  std::string remedy;            // the keys that make it less, or put it elsewhere
};

/// The size of a whole checkpoint.
uint64_t checkpoint_bytes(const Demand& demand);
/// `present_bytes`: of the run's checkpoints that are there. While one is saved, those that it replaces are.
RoomNeed room_of_checkpoints(const RunConfig& config, const Demand& demand, const Plan& plan,
                             const std::filesystem::path& folder, uint64_t present_bytes = 0);
/// The same of a run's folder, which may be there and have some.
RoomNeed room_of_checkpoints(const RunConfig& config, const Demand& demand, const Plan& plan,
                             const RunFolder& folder);
RoomNeed room_of_cache(const CacheForecast& forecast);
/// The need of the cache that this host has; nothing where the run has none, or where that is not known.
/// Prepares one case of each split.
std::optional<RoomNeed> need_of_cache(const Stage& stage, const RunConfig& config, const Index& index);
/// The needs of a run in that folder, which may be there and have checkpoints. With data.cache=full one case
/// of each split is prepared.
std::vector<RoomNeed> needs_of_run(const Stage& stage, const RunConfig& config, const Index& index,
                                   const Demand& demand, const Plan& plan, const RunFolder& folder);

/// Needs on one disk share its room. Gives a sentence for each disk on which it is short, and throws Error
/// (environment) where it is certain that something will not fit; where a person has looked at that
/// (`goes_on`), it is a sentence, too. A disk that does not tell what it has free has enough.
std::vector<std::string> look_for_room(const std::vector<RoomNeed>& needs, bool goes_on);
/// Whether this host, which is not the first, has room for its cache: "" where it has, and otherwise what it
/// lacks and what to do. Shortages that are no reason to refuse the run are logged.
std::string lack_of_room(const Stage& stage, const RunConfig& config, const Index& index, bool goes_on);

}  // namespace larmor
