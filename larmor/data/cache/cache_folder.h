// Where what is prepared lies.
#pragma once

#include <filesystem>

#include "larmor/config/run_config.h"

namespace larmor {

/// $XDG_CACHE_HOME/larmor/prepared, or ~/.cache/larmor/prepared. Throws Error (usage) when neither is known.
std::filesystem::path default_cache_folder();
/// That, or the one that the config names.
std::filesystem::path chosen_cache_folder(const DataConfig& data);
/// /dev/shm/larmor-<user>, where this user's shared folders are.
std::filesystem::path memory_folder();

}  // namespace larmor
