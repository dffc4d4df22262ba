#include "tests/support/shared_data.h"

#include <cstdlib>

namespace larmor::testing {

std::filesystem::path shared_data() {
  const char* const shared = std::getenv("LARMOR_SHARED");
  const char* const source = std::getenv("LARMOR_SOURCE");
  const auto beside =
      (source != nullptr ? std::filesystem::path(source) : std::filesystem::current_path()) / "..";
  const auto folder = (shared != nullptr ? std::filesystem::path(shared) : beside / "shared") / "data";
  return std::filesystem::is_directory(folder) ? folder : std::filesystem::path();
}

}  // namespace larmor::testing
