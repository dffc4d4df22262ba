// A folder in the machine's memory for a prepared cache that the processes of a run share, gone with the last
// of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "larmor/base/process/descriptor.h"

namespace larmor {

class SharedFolder {
 public:
  /// Makes `parent`/window-N, or joins those who use it; N are sixteen hexadecimal digits. First removes the
  /// folders of such names in `parent` that nobody uses any more: their processes were killed. What no
  /// prepared cache has made stays. Throws Error (environment): `parent` belongs to somebody else, or cannot
  /// be written.
  SharedFolder(const std::filesystem::path& parent, const std::string& digits);
  /// Removes the folder, unless somebody else still uses it.
  ~SharedFolder();
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_, lock_;
  Descriptor descriptor_;
};

/// What /dev/shm has free; 0 where there is none.
uint64_t free_shared_memory();

}  // namespace larmor
