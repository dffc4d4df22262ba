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

/// The globs of one key, and which of them fit something.
class UsedPatterns {
 public:
  UsedPatterns(const char* key, const std::vector<std::string>& patterns)
      : key_(key), patterns_(patterns), is_used_(patterns.size(), false) {}

  bool any_fits(const std::string& path) {
    bool fits = false;
    for (size_t i = 0; i < patterns_.size(); ++i) {
      if (fits && is_used_[i]) continue;
      if (!matches_glob(path, patterns_[i])) continue;
      is_used_[i] = true;
      fits = true;
    }
    return fits;
  }

  void tell_unused(std::vector<std::string>& warnings) const {
    for (size_t i = 0; i < patterns_.size(); ++i) {
      if (is_used_[i]) continue;
      warnings.push_back(
          text(key_, " has ", patterns_[i], ", which fits no file; ** stands for folders at any depth"));
    }
  }

 private:
  const char* key_;
  const std::vector<std::string>& patterns_;
  std::vector<bool> is_used_;
};

class Scanner {
 public:
  explicit Scanner(const NamePatterns& patterns)
      : patterns_(patterns),
        include_("data.include", patterns.include),
        exclude_("data.exclude", patterns.exclude) {}

  void enter(const fs::path& folder, const std::string& relative) {
    if (!is_new(folder))
      return scan_.account.pass_over("a link to a folder that is looked into already", relative);
    // In the order of names, so that it does not depend on the disk which of two links to one folder counts.
    std::set<std::string> names;
    std::error_code error;
    fs::directory_iterator entries(folder, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error))
      names.insert(entries->path().filename().string());
    if (error) {
      fail(Exit::data, text("cannot read the folder ", folder.string(), ": ", error.message()),
           "make it readable, or move it out of data.folder");
    }
    for (const std::string& name : names) {
      const std::string below = relative.empty() ? name : text(relative, '/', name);
      name.starts_with('.') ? pass_over_hidden(folder / name, below) : visit(folder / name, below);
    }
  }

  FolderScan take() {
    std::sort(scan_.files.begin(), scan_.files.end());
    include_.tell_unused(scan_.account.warnings);
    exclude_.tell_unused(scan_.account.warnings);
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
    const bool is_excluded = exclude_.any_fits(relative);
    const bool is_included = patterns_.include.empty() || include_.any_fits(relative);
    if (!patterns_.has_suffix(relative)) {
      ++scan_.others;
      scan_.account.pass_over(ending_warning(path), relative);
    } else if (is_excluded || !is_included) {
      ++scan_.passed_over;
      scan_.account.pass_over(is_excluded ? "left out by data.exclude" : "not in data.include", relative);
    } else {
      scan_.files.push_back(relative);
    }
  }

  // Of links that are hidden, not what they lead to: the contents of a git-annex, say, count where they are
  // shown.
  void pass_over_hidden(const fs::path& path, const std::string& relative) {
    constexpr const char* reason = "hidden: a name that begins with a dot";
    std::error_code error;
    if (fs::is_symlink(path, error) || !fs::is_directory(path, error))
      return scan_.account.pass_over(reason, relative);
    fs::directory_iterator entries(path, error);
    for (; !error && entries != fs::directory_iterator(); entries.increment(error))
      pass_over_hidden(entries->path(), text(relative, '/', entries->path().filename().string()));
    if (error) scan_.account.pass_over(text(reason, ", and cannot be read"), relative);
  }

  static std::string ending_warning(const fs::path& path) {
    constexpr size_t longest = 8;
    const std::string ending = lower(path.extension().string());
    return ending.empty() || ending.size() > longest ? "another kind of file"
                                                     : text("another kind of file (*", ending, ')');
  }

  const NamePatterns& patterns_;
  UsedPatterns include_, exclude_;
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
