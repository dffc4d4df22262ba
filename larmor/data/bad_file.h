// A file that cannot be used, and why: what indexing lists and quarantine.json holds.
#pragma once

#include <string>
#include <vector>

#include "larmor/base/json.h"

namespace larmor {

struct BadFile {
  std::string path, reason;  // the path relative to the data folder
  bool operator==(const BadFile&) const = default;
};

/// [{path, reason}]
Json to_json(const std::vector<BadFile>& files);
/// One line a file, at most `most` of them and then how many more there are.
std::string listing(const std::vector<BadFile>& files, size_t most = 20);

/// What an error's message says behind the name of the file that it names: "cut short" of
/// "/data/a/b.nii: cut short" for "a/b.nii".
std::string reason_behind(const std::string& name, const std::string& message);

}  // namespace larmor
