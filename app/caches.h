// The folders of this user in which larmor keeps things beyond a run: where they are, how much room they
// take, and what empties them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/base/printable.h"
#include "larmor/config/run_config.h"

namespace larmor::app {

struct CacheReport {
  std::string what;  // "prepared images"
  std::filesystem::path folder;
  uint64_t bytes = 0;
  bool is_private = true;  // nobody but its owner may look into it
  std::string emptied_by;  // a command
};

/// Those that are there: prepared images and tables under data.cache_folder's default, windows in memory, and
/// whatever else lies in larmor's folder among the user's caches.
std::vector<CacheReport> cache_reports();
Json to_json(const std::vector<CacheReport>& caches);
Lines lines_of(const std::vector<CacheReport>& caches);

/// A message for who fills the prepared cache that the config names: where images lie when the run is over,
/// and what removes them.
std::string prepared_images_message(const DataConfig& data, const std::string& workload);

}  // namespace larmor::app
