#include "larmor/base/files/private_folder.h"

#include <sys/stat.h>

#include <cerrno>

#include <stdlib.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/process/system_error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

mode_t mode_of(const fs::path& folder) {
  struct stat status{};
  if (after_signals([&] { return ::stat(folder.c_str(), &status); }) != 0)
    fail_errno(errno, "look at the folder", folder);
  return status.st_mode;
}

// Whether a new folder has the mode that it was made with. Shares of other systems show one mode for all.
bool keeps_modes(const fs::path& folder) {
  std::string probe = (folder / ".access-XXXXXX").string();
  if (::mkdtemp(probe.data()) == nullptr) fail_errno(errno, "create a folder in", folder);
  const mode_t mode = mode_of(probe);
  ::rmdir(probe.c_str());
  return (mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

std::vector<std::string> check_private(const fs::path& folder) {
  std::vector<std::string> warnings;
  const mode_t mode = mode_of(folder);
  if ((mode & (S_IWGRP | S_IWOTH)) != 0) {
    if (!keeps_modes(folder)) {
      warnings.push_back(text("the file system of ", folder.string(),
                              " says that others may write into it, as it does of every folder"));
    } else if ((mode & S_IWOTH) != 0) {
      fail(Exit::environment,
           text("everybody on this machine may write into the run folder ", folder.string()),
           text("chmod go-w ", folder.string()));
    } else {
      warnings.push_back(
          text("the group of the run folder ", folder.string(),
               " may write into it, and so change what this run does: chmod g-w keeps it out"));
    }
  }
  const auto parent = fs::absolute(folder).parent_path();
  const mode_t above = mode_of(parent);
  if ((above & S_IWOTH) != 0 && (above & S_ISVTX) == 0 && keeps_modes(folder)) {
    warnings.push_back(text("everybody on this machine may replace the run folder ", folder.string(),
                            " by another: chmod +t ", parent.string(), " keeps them from it"));
  }
  return warnings;
}

}  // namespace larmor
