#include "larmor/run/data_check.h"

#include <algorithm>
#include <map>
#include <set>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/cache_folder.h"
#include "larmor/data/index/check_files.h"

namespace larmor {

namespace {

/// As training would list them: under the case's name, with the file where it is another one.
std::vector<BadFile> cases_of(const Index& index, const std::vector<BadFile>& files) {
  std::map<std::string, std::string> reasons;
  for (const auto& file : files) reasons[file.path] = file.reason;
  std::vector<BadFile> bad;
  for (const Case& entry : index.cases) {
    for (const auto& [name, file] : entry.files) {
      const auto found = reasons.find(file);
      if (found == reasons.end()) continue;
      const bool is_first = file == entry.name();
      bad.push_back({entry.name(), is_first ? found->second : text(file, ": ", found->second)});
      break;
    }
  }
  return bad;
}

void check_splits(const Index& index, const std::vector<BadFile>& bad, const RunConfig& config) {
  std::set<std::string> without;
  for (const auto& file : bad) without.insert(file.path);
  const auto is_of_use = [&](int64_t number) {
    return !without.contains(index.cases[static_cast<size_t>(number)].name());
  };
  const auto refuse = [&](Split split, const std::string& hint) {
    const auto cases = index.of(split);
    if (std::any_of(cases.begin(), cases.end(), is_of_use)) return;
    const auto what =
        cases.empty() ? text("the split ", to_text(split), " has no cases: there are ", index.cases.size(),
                             " cases of ", index.patients(), " patients (", index.patients_by, ")")
                      : text("none of the ", cases.size(), " cases of the split ", to_text(split),
                             " can be used:", listing(bad));
    fail(Exit::data, what, hint);
  };
  refuse(Split::train, "raise data.split.train, or name its patients: data.split.train=[…]");
  if (config.train.validate_every.amount > 0) {
    refuse(Split::val,
           "raise data.split.val or name its patients: data.split.val=[…]; to train without validation, say "
           "train.validate_every=0");
  }
}

// Those of a small data set are looked at each time: it takes less than a second.
std::vector<BadFile> files_that_cannot_be_used(const Index& index, const RunConfig& config) {
  constexpr std::size_t many = 5000;
  if (index.is_invented() || index.cases.size() < many) return check_files(index);
  std::filesystem::path cache;
  try {
    cache = chosen_cache_folder(config.data);
  } catch (const Error&) {
    return check_files(index);  // nowhere to remember anything
  }
  return check_many_files(index, cache);
}

}  // namespace

std::vector<BadFile> check_data(const Index& index, const RunConfig& config) {
  const auto files = files_that_cannot_be_used(index, config);
  const auto bad = cases_of(index, files);
  const auto budget =
      bad_file_budget(config.data.bad_files, static_cast<int64_t>(index.of(Split::train).size()));
  const auto all = static_cast<int64_t>(index.distinct_files().size());
  const bool too_many = are_too_many(static_cast<int64_t>(files.size()), budget, all) ||
                        static_cast<int64_t>(bad.size()) > budget;
  if (too_many) {
    fail(Exit::data,
         text(files.size(), files.size() == 1 ? " file" : " files",
              " cannot be used:", listing(files, files.size())),
         text("repair or remove them, or leave them out with data.exclude; data.bad_files allows ", budget,
              ", and no more than half of all; `larmor prepare` reads every byte of every file"));
  }
  check_splits(index, bad, config);
  return bad;
}

}  // namespace larmor
