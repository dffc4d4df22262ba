#include "larmor/data/index/data_folder.h"

#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

[[noreturn]] void fail_empty(const DataConfig& data, const FolderScan& scan, const NamePatterns& patterns) {
  std::vector<std::string> looked_for;
  for (const std::string& suffix : patterns.suffixes) looked_for.push_back("*" + suffix);
  const std::string what =
      text("no ", data.kind, " files in ", data.folder, ": looked for ", join(looked_for, ", "));
  if (scan.passed_over > 0) {
    fail(Exit::data, text(what, "; all ", scan.passed_over, " that are there are passed over"),
         "loosen data.include or data.exclude; a pattern without / is held against the file's name");
  }
  fail(Exit::data, text(what, "; ", scan.others, " files have other names"),
       "check data.folder and data.kind");
}

}  // namespace

std::filesystem::path absolute_path(const std::filesystem::path& path) {
  const std::filesystem::path plain = std::filesystem::absolute(path).lexically_normal();
  return plain.has_filename() ? plain : plain.parent_path();
}

std::string without_suffix(const std::string& name, const NamePatterns& patterns) {
  for (const std::string& suffix : patterns.suffixes) {
    if (lower(name).ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

FolderScan scan_data_folder(const DataConfig& data, NamePatterns& patterns) {
  if (!data.list.empty()) {
    fail(Exit::usage, text("data.list is given, but data.kind is ", data.kind), "say data.kind=list");
  }
  if (data.folder.empty())
    fail(Exit::data, "data.folder is not set", "say where the volumes are: data.folder=PATH");
  patterns.include = data.include;
  patterns.exclude = data.exclude;
  FolderScan scan = scan_folder(absolute_path(data.folder), patterns);
  if (scan.files.empty()) fail_empty(data, scan, patterns);
  return scan;
}

}  // namespace larmor
