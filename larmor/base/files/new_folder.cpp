#include "larmor/base/files/new_folder.h"

#include <sys/stat.h>

#include <cerrno>

#include "larmor/base/process/descriptor.h"
#include "larmor/base/process/system_error.h"

namespace larmor {

bool create_folder(const std::filesystem::path& folder) {
  constexpr mode_t mode = 0700;
  if (after_signals([&] { return ::mkdir(folder.c_str(), mode); }) == 0) {
    ::chmod(folder.c_str(), mode);
    return true;
  }
  const int code = errno;
  struct stat status{};
  const bool exists = ::stat(folder.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return false;
  fail_errno(exists ? ENOTDIR : code, "create the folder", folder);
}

}  // namespace larmor
