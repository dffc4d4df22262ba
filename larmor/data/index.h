// Which cases there are and which split each belongs to: frozen at the start of a run, hashed, and
// compared when it is resumed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/config/run_config.h"

namespace larmor {

enum class Split { train, val, test };
std::string to_text(Split split);

struct Case {
  std::map<std::string, std::string> files;  // "image" -> path relative to the data folder
  std::string patient;
  Split split = Split::train;
  uint64_t bytes = 0;                        // of its files
  std::string label;
};

struct BadFile {
  std::string path, reason;
};

struct Index {
  std::filesystem::path folder;   // what relative paths start from; not part of the hash
  std::vector<Case> cases;        // sorted by path
  std::string patients_by;        // the sentence that says how patients were told apart
  int64_t patients() const;
  std::vector<int64_t> of(Split split) const;
  std::string sha256() const;
};

/// Finds the cases of a config (folder, CSV or JSON list, phantom), splits them by patient. Throws Error
/// (data): missing or empty folder, files that do not exist, a patient in two splits, a split that gets nobody.
Index make_index(const DataConfig& data, uint64_t seed);

/// Opens every file's header and checks it against the bytes that are there; all faults, not the first.
std::vector<BadFile> check_files(const Index& index);

Json to_json(const Index& index);
Index index_from_json(const Json& json);

}  // namespace larmor
