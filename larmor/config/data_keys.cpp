#include "larmor/config/data_keys.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "larmor/base/text.h"

namespace larmor {
namespace {

using KeysOfKinds = std::map<std::string, std::set<std::string>>;

/// Keys that say what the cases are. How they are read and shared out is the same for all kinds; grids count
/// for the inputs of a prediction, whatever the run was trained on.
KeysOfKinds keys_of_kinds(const WorkloadFields& fields) {
  const std::set<std::string> files = {"folder",  "layout",  "patient_pattern",
                                       "include", "exclude", "exclude_list"};
  std::set<std::string> several = files;
  several.insert("modalities");
  std::set<std::string> objects = files;
  objects.insert("dicom");
  KeysOfKinds all = {{"nifti", several},
                     {"nrrd", several},
                     {"metaimage", several},
                     {"npz", several},
                     {"picture", several},
                     {"dicom", objects},
                     {"list", {"list", "folder", "include", "exclude", "exclude_list", "modalities"}},
                     {"phantom", {"phantom_cases", "phantom_size", "phantom_seed"}}};
  for (const std::string& kind : fields.data_kinds) all[kind];
  for (const auto& [kind, keys] : fields.data_keys) all[kind].insert(keys.begin(), keys.end());
  return all;
}

std::vector<std::string> kinds_that_read(const KeysOfKinds& all, const std::string& key) {
  std::vector<std::string> kinds;
  for (const auto& [kind, keys] : all)
    if (keys.contains(key)) kinds.push_back(kind);
  return kinds;
}

/// The number of the last tree that has the key, and 0 where none has; from 1.
size_t last_with(std::span<const Node* const> trees, std::string_view key) {
  size_t last = 0;
  for (size_t i = 0; i < trees.size(); ++i) {
    const Entry* const data = find_entry(*trees[i], "data");
    if (data != nullptr && find_entry(data->value, key) != nullptr) last = i + 1;
  }
  return last;
}

/// Whether the value takes back what another file says of the key.
bool is_empty(const std::string& value) { return value == "null" || value == "[]" || value == "\"\""; }

/// Where a person has given the key, or a key below it, another value than it has without him.
const Origin* given_at(std::span<const Origin> origins, const std::string& key) {
  const std::string whole = text("data.", key), below = whole + '.';
  const auto found = std::find_if(origins.begin(), origins.end(), [&](const Origin& origin) {
    return (origin.key == whole || origin.key.starts_with(below)) && !origin.overrode.empty() &&
           !is_empty(origin.value);
  });
  return found == origins.end() ? nullptr : &*found;
}

/// Whether a person's own file or word has data.split.<part>.
bool gives_split(std::span<const Node* const> trees, size_t shipped, std::string_view part) {
  return std::any_of(
      trees.begin() + static_cast<std::ptrdiff_t>(shipped), trees.end(), [&](const Node* tree) {
        const Entry* const data = find_entry(*tree, "data");
        const Entry* const split = data == nullptr ? nullptr : find_entry(data->value, "split");
        return split != nullptr && find_entry(split->value, part) != nullptr;
      });
}

/// A fold says who is in train and in val.
void check_fold(const RunConfig& config, std::span<const Origin> origins, std::span<const Node* const> trees,
                size_t shipped, Problems& problems) {
  if (config.data.fold.empty()) return;
  for (const char* part : {"train", "val"}) {
    const Origin* const given = given_at(origins, text("split.", part));
    if (given == nullptr || !gives_split(trees, shipped, part)) continue;
    problems.push_back({given->key, given->origin,
                        text("has no effect, since data.fold is ", config.data.fold,
                             ": give one of the two; data.split.test still says who is in no fold")});
  }
}

}  // namespace

void check_data_keys(const RunConfig& config, const WorkloadFields& fields, std::span<const Origin> origins,
                     std::span<const Node* const> trees, size_t shipped, Problems& problems) {
  check_fold(config, origins, trees, shipped, problems);
  const KeysOfKinds all = keys_of_kinds(fields);
  const std::string& kind = config.data.kind;
  const auto own = all.find(kind);
  if (own == all.end()) return;
  std::set<std::string> keys;
  for (const auto& [name, read] : all) keys.insert(read.begin(), read.end());
  const size_t kind_place = last_with(trees, "kind");
  for (const std::string& key : keys) {
    if (own->second.contains(key)) continue;
    const size_t place = last_with(trees, key);
    // Who names another kind later on has done without what an earlier file says of the one before.
    if (place <= shipped || place < kind_place) continue;
    const Origin* const given = given_at(origins, key);
    if (given == nullptr) continue;
    const auto kinds = kinds_that_read(all, key);
    problems.push_back({given->key, given->origin,
                        text("has no effect, since data.kind is ", kind, ": data.kind=", join(kinds, ", "),
                             kinds.size() == 1 ? " reads it" : " read it")});
  }
}

}  // namespace larmor
