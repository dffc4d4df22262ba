// What a stage prepares its data with, and what it says of it: the inside of `larmor prepare`.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "larmor/base/files/storage.h"
#include "larmor/base/json.h"
#include "larmor/config/run_config.h"
#include "larmor/data/bad_file.h"
#include "larmor/data/cache/cache_filling.h"
#include "larmor/data/dataset.h"
#include "larmor/data/index/index.h"

namespace larmor {

class Stage;

/// Borrows the storage.
struct PrepareContext {
  Storage& storage;
  c10::Device device{c10::kCPU};
  int cores = 1;
  /// Called from one thread at a time, a few times a second.
  std::function<void(int64_t done, int64_t all)> progress = [](int64_t, int64_t) {};

  // What came of it.
  Json outputs = Json::object();           // goes into the verb's JSON: {"cache": {"folder", "bytes"}}
  std::vector<std::string> lines = {};     // for a person, one each
  std::vector<BadFile> bad = {};           // files, or cases, that cannot be used
  std::vector<std::string> warnings = {};  // what looks wrong about files that can
};

/// The stage's datasets of all splits as they are with data.cache=full: what Stage::prepare() fills by
/// default. Those without cases that can be prepared are left out.
std::vector<std::unique_ptr<Dataset>> datasets_to_prepare(const Stage& stage, RunConfig config,
                                                          const Index& index);
/// What filling the cache with them will take; nothing where there are none. Prepares one case of each.
std::optional<CacheForecast> forecast_cache(const Stage& stage, const RunConfig& config, const Index& index);

}  // namespace larmor
