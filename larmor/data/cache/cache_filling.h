// Preparing every case before a run: what `prepare` does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "larmor/data/bad_file.h"
#include "larmor/data/volume_dataset.h"

namespace larmor {

/// What filling will take, judged by one case of each dataset, and where it goes.
struct CacheForecast {
  std::filesystem::path folder;
  int64_t cases = 0;
  uint64_t needed_bytes = 0, present_bytes = 0;  // of these cases; of all that lies in the folder
  uint64_t budget_bytes = 0;
  /// `memory_bytes`: what the machine has for files that it keeps in memory.
  std::string sentence(uint64_t memory_bytes) const;
  bool fits() const { return needed_bytes <= budget_bytes; }
};

struct CacheFilling {
  std::filesystem::path folder;
  int64_t kept = 0, without_room = 0;  // cases
  uint64_t bytes = 0;                  // of the kept ones
  std::vector<BadFile> bad;            // cases that cannot be prepared, in the order of the datasets
};

using Datasets = std::span<const PreparableDataset* const>;

/// Blocks. Prepares one case of each dataset; one that fails is passed over.
CacheForecast forecast_cache(Datasets datasets);
/// Blocks. Prepares all cases with that many threads. `progress(done, all)` is called from one thread at a
/// time, a few times a second; what it throws ends the work when the cases that have been begun are done.
/// Throws the first Error that is not about data.
CacheFilling fill_cache(Datasets datasets, int threads,
                        const std::function<void(int64_t, int64_t)>& progress);

struct CacheCleaning {
  std::filesystem::path folder;
  int64_t removed = 0, in_use = 0;  // entries
  uint64_t bytes = 0;               // of the removed ones
};

/// Empties the prepared cache that the config names of all entries that nobody uses. Throws Error
/// (environment).
CacheCleaning clean_cache(const DataConfig& data);

}  // namespace larmor
