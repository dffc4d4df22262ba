#include "larmor/data/layout/folder_splits.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/layout/split_folder.h"

namespace larmor {
namespace {

[[noreturn]] void refuse_folder(const std::string& what) {
  fail(Exit::data, what,
       "say data.layout=none where these folders are patients, data.layout=folders where they are splits, "
       "data.patient_pattern=REGEX whose first group is the patient in a path, or leave some out with "
       "data.exclude=[FOLDER/**]");
}

/// The folders that stand at one level, and whether files lie beside them.
struct FolderLevel {
  std::set<std::string_view> names;
  std::string_view loose;  // the name of one such file
};

FolderLevel folders_at(const std::vector<PathParts>& files, std::size_t level) {
  FolderLevel found;
  for (const PathParts& file : files) {
    if (level < file.folders.size()) {
      found.names.insert(file.folders[level]);
    } else if (found.loose.empty()) {
      found.loose = file.stem;
    }
  }
  return found;
}

std::string shown_folder(std::string_view name) { return text(name, '/'); }

// A session of a patient may be called test; that several splits stand below patients says more.
void refuse_splits_below(const std::vector<PathParts>& files, std::size_t level) {
  std::map<Split, std::string> found;
  for (const PathParts& file : files) {
    if (level + 1 >= file.folders.size()) continue;
    const std::string_view name = file.folders[level + 1];
    const auto split = split_of_folder(name);
    if (split) found.try_emplace(*split, text(file.folders[level], '/', name, '/'));
  }
  if (found.size() < 2) return;
  refuse_folder(text(found.begin()->second, " and ", std::next(found.begin())->second,
                     " are called like splits, and ", shown_folder(files.front().folders[level]),
                     " stands where a patient would"));
}

void refuse_doubtful(const FolderLevel& level, bool is_told) {
  std::map<Split, std::string_view> splits;
  std::string_view other;
  for (const std::string_view name : level.names) {
    const auto split = split_of_folder(name);
    if (!split) {
      other = name;
      continue;
    }
    const auto [known, is_new] = splits.emplace(*split, name);
    if (is_new || is_told) continue;
    refuse_folder(text(shown_folder(known->second), " and ", shown_folder(name),
                       " are both called like the split ", to_text(*split)));
  }
  if (other.empty() && level.loose.empty()) return;
  refuse_folder(text(shown_folder(splits.begin()->second), " is called like a split, and ",
                     other.empty() ? text("the file ", level.loose, " lies") : text(other, "/ stands"),
                     " beside it, which is none"));
}

}  // namespace

std::size_t shared_folders(const std::vector<PathParts>& files) {
  std::size_t shared = files.front().folders.size();
  for (const PathParts& file : files) {
    const auto& first = files.front().folders;
    const auto end = first.begin() + static_cast<std::ptrdiff_t>(std::min(shared, file.folders.size()));
    shared = static_cast<std::size_t>(std::mismatch(first.begin(), end, file.folders.begin()).first -
                                      first.begin());
  }
  return shared;
}

std::optional<std::size_t> level_of_splits(const std::vector<PathParts>& files,
                                           const std::filesystem::path& folder, bool is_told) {
  const std::size_t shared = shared_folders(files);
  const auto& first = files.front().folders;
  for (std::size_t level = 0; level < shared; ++level) {
    if (split_of_folder(first[level])) return level;
  }
  const FolderLevel level = folders_at(files, shared);
  const bool has_splits = std::any_of(level.names.begin(), level.names.end(),
                                      [](auto name) { return split_of_folder(name).has_value(); });
  if (has_splits) {
    refuse_doubtful(level, is_told);
    return shared;
  }
  if (is_told) {
    fail(Exit::data,
         text("data.layout is folders, and no folder of ", folder.string(), " is called like a split"),
         "names are train, val or validation, and test; data.layout=none takes each first sub-folder for a "
         "patient");
  }
  if (!level.names.empty() && level.loose.empty()) refuse_splits_below(files, shared);
  return std::nullopt;
}

}  // namespace larmor
