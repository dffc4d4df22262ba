#include "tests/processes/support/installed_program.h"

#include <cstdlib>

#include <unistd.h>

#include "larmor/base/text.h"

namespace larmor::testing {

std::filesystem::path installed_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const auto& folder :
       split(text(path == nullptr ? "" : path, ":/usr/local/sbin:/usr/sbin:/sbin"), ':')) {
    const auto file = std::filesystem::path(folder) / name;
    if (file.is_absolute() && access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

}  // namespace larmor::testing
