#include "tests/support/faults/memory_folder.h"

#include <stdexcept>
#include <string>
#include <system_error>

#include <stdlib.h>
#include <unistd.h>

namespace larmor::testing {

namespace fs = std::filesystem;

MemoryFolder::MemoryFolder() {
  const bool has_memory = ::access("/dev/shm", W_OK | X_OK) == 0;
  std::string pattern =
      ((has_memory ? fs::path("/dev/shm") : fs::temp_directory_path()) / "larmor-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
  path_ = pattern;
}

MemoryFolder::~MemoryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace larmor::testing
