#include "larmor/data/index/folder_scan.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;

class Scanner {
 public:
  explicit Scanner(const NamePatterns& patterns) : patterns_(patterns) {}

  void enter(const fs::path& folder, const std::string& relative) {
    if (!is_new(folder)) return;
    // In the order of names, so that it does not depend on the disk which of two links to one folder counts.
    std::set<std::string> names;
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
      const std::string name = entries->path().filename().string();
      if (!name.starts_with('.')) names.insert(name);
    }
    if (error) {
      fail(Exit::data, text("cannot read the folder ", folder.string(), ": ", error.message()),
           "make it readable, or move it out of data.folder");
    }
    for (const std::string& name : names) {
      visit(folder / name, relative.empty() ? name : text(relative, '/', name));
    }
  }

  FolderScan take() {
    std::sort(scan_.files.begin(), scan_.files.end());
    return std::move(scan_);
  }

 private:
  bool is_new(const fs::path& folder) {
    struct stat status{};
    return ::stat(folder.c_str(), &status) != 0 || seen_.emplace(status.st_dev, status.st_ino).second;
  }

  void visit(const fs::path& path, const std::string& relative) {
    std::error_code error;
    if (fs::is_directory(path, error)) return enter(path, relative);
    if (!patterns_.has_suffix(relative)) {
      ++scan_.others;
    } else if (!patterns_.wants(relative)) {
      ++scan_.passed_over;
    } else {
      scan_.files.push_back(relative);
    }
  }

  const NamePatterns& patterns_;
  FolderScan scan_;
  std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

bool NamePatterns::has_suffix(const std::string& path) const {
  const std::string name = lower(path);
  return std::any_of(suffixes.begin(), suffixes.end(), [&](const auto& end) { return name.ends_with(end); });
}

bool NamePatterns::wants(const std::string& path) const {
  const auto fits = [&path](const std::string& pattern) { return matches_glob(path, pattern); };
  const bool included = include.empty() || std::any_of(include.begin(), include.end(), fits);
  return included && std::none_of(exclude.begin(), exclude.end(), fits);
}

FolderScan scan_folder(const std::filesystem::path& folder, const NamePatterns& patterns) {
  std::error_code error;
  if (!fs::exists(folder, error)) {
    fail(Exit::data, text("data.folder ", folder.string(), " is not there"),
         text("set data.folder; relative paths start from ", fs::current_path(error).string()));
  }
  if (!fs::is_directory(folder, error)) {
    fail(Exit::data, text("data.folder ", folder.string(), " is not a folder"),
         "for a list of files say data.kind=list data.list=FILE");
  }
  Scanner scanner(patterns);
  scanner.enter(folder, "");
  return scanner.take();
}

}  // namespace larmor
