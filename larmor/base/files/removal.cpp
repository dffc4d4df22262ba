#include "larmor/base/files/removal.h"

#include <sys/stat.h>

#include <cerrno>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "larmor/base/files/storage.h"
#include "larmor/base/process/system_error.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

using IsOurs = std::function<bool(const fs::path&)>;

fs::file_type type_of(const fs::path& path) {
  std::error_code absent;
  return fs::symlink_status(path, absent).type();
}

std::vector<fs::path> names_in(const fs::path& folder) {
  for (;;) {
    std::vector<fs::path> names;
    std::error_code error;
    for (fs::directory_iterator item(folder, error), end; !error && item != end; item.increment(error))
      names.push_back(item->path().filename());
    if (!error) return names;
    if (error.value() != EINTR) fail_errno(error.value(), "look into", folder);
  }
}

// Requires: `within` names the folder in the one that is to go, and is empty for that one.
bool remove_below(Storage& storage, const fs::path& folder, const fs::path& within, const IsOurs& is_ours) {
  bool is_empty = true;
  for (const fs::path& name : names_in(folder)) {
    if (!is_ours(within / name)) {
      is_empty = false;
    } else if (type_of(folder / name) == fs::file_type::directory) {
      is_empty = remove_below(storage, folder / name, within / name, is_ours) && is_empty;
    } else {
      storage.remove_all(folder / name);
    }
  }
  if (is_empty) storage.remove_all(folder);
  return is_empty;
}

}  // namespace

uint64_t bytes_freed_by(const fs::path& folder) {
  struct Links {
    uint64_t bytes = 0, all = 0, here = 0;
  };
  std::map<std::pair<dev_t, ino_t>, Links> files;
  std::error_code error;
  constexpr auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator items(folder, options, error);
       !error && items != fs::recursive_directory_iterator(); items.increment(error)) {
    struct stat status{};
    if (::lstat(items->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    auto& links = files[{status.st_dev, status.st_ino}];
    links = {static_cast<uint64_t>(status.st_size), status.st_nlink, links.here + 1};
  }
  uint64_t bytes = 0;
  for (const auto& [file, links] : files) bytes += links.here >= links.all ? links.bytes : 0;
  return bytes;
}

void remove_file(Storage& storage, const fs::path& path) {
  if (type_of(path) != fs::file_type::directory) storage.remove_all(path);
}

bool remove_own(Storage& storage, const fs::path& folder, const IsOurs& is_ours) {
  const fs::file_type type = type_of(folder);
  if (type == fs::file_type::directory) return remove_below(storage, folder, {}, is_ours);
  if (type != fs::file_type::not_found) return false;
  storage.remove_all(folder);  // nothing, but one that is fenced off hears of it
  return true;
}

}  // namespace larmor
