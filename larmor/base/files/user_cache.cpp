#include "larmor/base/files/user_cache.h"

#include <cstdlib>

namespace larmor {

namespace fs = std::filesystem;

fs::path user_cache_folder() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return fs::path(value == nullptr ? "" : value);
  };
  // A relative one is to be ignored, says the standard of these folders.
  const fs::path cache = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (cache.is_absolute()) return cache / "larmor";
  return home.is_absolute() ? home / ".cache" / "larmor" : fs::path();
}

}  // namespace larmor
