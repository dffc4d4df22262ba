// A file that cannot be used, and why: what indexing lists and quarantine.json holds.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "larmor/base/json.h"

namespace larmor {

struct BadFile {
  std::string path, reason;  // the path relative to the data folder
  std::string sha256 = {};   // of the contents, where known
  bool operator==(const BadFile&) const = default;
};

/// A budget that no number of files exceeds.
constexpr int64_t any_number_of_files = std::numeric_limits<int64_t>::max();
/// How many files may turn out bad: `allowed`, or a thousandth of the cases where that is more.
int64_t bad_file_budget(int64_t allowed, int64_t cases);
/// Whether so many bad files of `files` keep a run from starting: more than the budget, or more than half of
/// them, which is no bad file but another fault (a wrong folder, a disk that is not mounted). Never where any
/// number may be bad.
bool are_too_many(int64_t bad, int64_t budget, int64_t files);

/// [{path, reason}], with sha256 where it is known.
Json to_json(const std::vector<BadFile>& files);
std::vector<BadFile> bad_files_from(const Json& json);
/// Whether one of them has this path.
bool holds(const std::vector<BadFile>& files, const std::string& path);
/// One line a file, at most `most` of them and then how many more there are.
std::string listing(const std::vector<BadFile>& files, size_t most = 20);

/// Throws Error (data): the list, when that many files are more than may be bad.
[[noreturn]] void fail_over_budget(const std::vector<BadFile>& files, int64_t allowed);

/// What an error's message says behind the name of the file that it names: "cut short" of
/// "/data/a/b.nii: cut short" for "a/b.nii".
std::string reason_behind(const std::string& name, const std::string& message);

}  // namespace larmor
