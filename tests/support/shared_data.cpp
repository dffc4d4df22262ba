#include "tests/support/shared_data.h"

#include <cstdlib>

namespace larmor::testing {
namespace {

std::filesystem::path shared_folder(const char* name) {
  const char* const shared = std::getenv("LARMOR_SHARED");
  const char* const source = std::getenv("LARMOR_SOURCE");
  const auto beside =
      (source != nullptr ? std::filesystem::path(source) : std::filesystem::current_path()) / "..";
  const auto folder = (shared != nullptr ? std::filesystem::path(shared) : beside / "shared") / name;
  return std::filesystem::is_directory(folder) ? folder : std::filesystem::path();
}

}  // namespace

std::filesystem::path shared_data() { return shared_folder("data"); }

std::filesystem::path shared_golden() { return shared_folder("golden"); }

}  // namespace larmor::testing
