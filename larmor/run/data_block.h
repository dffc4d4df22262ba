// What a run trains on, told before anything is made: for people, and as the key `data` of results in JSON.
#pragma once

#include <cstdint>
#include <optional>

#include "larmor/base/json.h"
#include "larmor/base/printable.h"
#include "larmor/config/run_config.h"
#include "larmor/data/index/index.h"
#include "larmor/plan/plan.h"

namespace larmor {

/// How long a run is, and what it leaves on disks.
struct WorkOfRun {
  std::optional<int64_t> steps;              // of the whole run; nothing where its length is a time
  std::optional<uint64_t> checkpoint_bytes;  // of one
  std::optional<uint64_t> cache_bytes;       // of the prepared cache; nothing where nobody has looked
  std::optional<uint64_t> free_bytes;        // where runs go; nothing where that is another machine
};
WorkOfRun work_of_run(const RunConfig& config, const Demand& demand, const Plan& plan);

/// {splits{train{patients, cases, files}, …}, patients, cases, files, patients_by, modalities{name: cases},
/// examples[], first{shape, spacing_mm, dtype, min, max}, passed_over[{reason, count, example}], warnings[],
/// steps, bytes{checkpoint, checkpoints, cache, free}}. Opens the first training case; of a small one it
/// reads the voxels.
Json data_block(const Index& index, const RunConfig& config, const WorkOfRun& work);
/// The same, for people.
Lines lines_of_data(const Json& block);

}  // namespace larmor
