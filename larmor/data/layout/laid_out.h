// Whose each file of a folder is, and of which split, by the data set's own names: data.layout and
// data.patient_pattern.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/index/folder_scan.h"
#include "larmor/data/index/split.h"

namespace larmor {

struct LaidOut {
  struct Place {
    std::string patient;
    std::optional<Split> split = {};    // where a folder names it
    const char* passed_over = nullptr;  // why it is no image
  };
  std::vector<Place> files;  // one for each path, in their order
  std::string patients_by;   // for people: "first sub-folder"
  std::vector<std::string> warnings = {};
};

/// `paths`, with `/`, are relative to `folder`; `patterns` has their suffixes. Throws Error: data where it is
/// not plain whether a folder is a split or a patient, where the split to train or to validate on would be
/// empty, or a file has no patient; usage where data.patient_pattern is no regular expression with a group.
LaidOut lay_out(const DataConfig& data, const std::vector<std::string>& paths, const NamePatterns& patterns,
                const std::filesystem::path& folder);

}  // namespace larmor
