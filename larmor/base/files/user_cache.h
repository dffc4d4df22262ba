// Where larmor keeps, for one user, what outlives a run.
#pragma once

#include <filesystem>

namespace larmor {

/// $XDG_CACHE_HOME/larmor, or ~/.cache/larmor; empty where neither variable names an absolute path. Need not
/// be there.
std::filesystem::path user_cache_folder();

}  // namespace larmor
