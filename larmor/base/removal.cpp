#include "larmor/base/removal.h"

#include <system_error>
#include <vector>

#include "larmor/base/storage.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

using IsOurs = std::function<bool(const fs::path&)>;

fs::file_type type_of(const fs::path& path) {
  std::error_code absent;
  return fs::symlink_status(path, absent).type();
}

// Requires: `below` names a folder in `root`, or is empty.
bool remove_below(Storage& storage, const fs::path& root, const fs::path& below, const IsOurs& is_ours) {
  std::vector<fs::path> items;
  std::error_code unreadable;
  for (fs::directory_iterator item(root / below, unreadable), end; !unreadable && item != end;
       item.increment(unreadable)) {
    items.push_back(below / item->path().filename());
  }
  bool is_empty = !unreadable;
  for (const fs::path& item : items) {
    if (!is_ours(item)) {
      is_empty = false;
    } else if (type_of(root / item) == fs::file_type::directory) {
      is_empty = remove_below(storage, root, item, is_ours) && is_empty;
    } else {
      storage.remove_all(root / item);
    }
  }
  if (is_empty) storage.remove_all(root / below);
  return is_empty;
}

}  // namespace

void remove_file(Storage& storage, const fs::path& path) {
  if (type_of(path) != fs::file_type::directory) storage.remove_all(path);
}

bool remove_own(Storage& storage, const fs::path& folder, const IsOurs& is_ours) {
  const fs::file_type type = type_of(folder);
  if (type == fs::file_type::directory) return remove_below(storage, folder, {}, is_ours);
  return type == fs::file_type::not_found;
}

}  // namespace larmor
