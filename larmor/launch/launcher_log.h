// launcher.log: what the agent did, a line each.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "larmor/base/clock.h"
#include "larmor/base/files/storage.h"

namespace larmor {

/// One line with its time for each start and ending. A full disk silences it, no more.
class LauncherLog {
 public:
  explicit LauncherLog(const std::filesystem::path& file);
  void line(std::string_view words);

 private:
  DiskStorage storage_;
  SystemClock clock_;
  std::unique_ptr<StorageFile> file_;
};

}  // namespace larmor
