// From the config's folder, list or phantoms to cases, before they are split.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/index/case_list.h"
#include "larmor/data/index/file_account.h"
#include "larmor/data/index/split.h"

namespace larmor {

struct FoundCase {
  std::map<std::string, std::string> files;  // relative to the folder
  std::string patient;
  uint64_t bytes = 0;
  std::string label;
  std::optional<Split> split;  // the list's own word, or a folder's
  std::map<std::string, double> values = {};
  std::string id = {};  // what the names of its files share, where a modality tells them apart
};

struct FoundCases {
  std::filesystem::path folder;  // absolute
  std::vector<FoundCase> cases;  // sorted by path; not empty
  std::string patients_by;       // "first sub-folder"
  const char* noun = "volume";   // what a case is
  /// Modalities of the images, in the order declared; empty where cases have one image file.
  std::vector<std::string> channels = {};
  FileAccount account = {};
  bool splits_are_folders = false;  // what splits the cases have, folders say; a list is a person's own word
};

/// Throws Error: data when nothing is found or too many files are missing (naming all), usage for another
/// kind.
FoundCases find_cases(const DataConfig& data);
/// From cases that are listed already, with paths as a list has them. Throws Error (data) as find_cases.
FoundCases find_listed_cases(const DataConfig& data, const std::vector<ListedCase>& listed);
/// Of volumes that a program makes: nothing is looked for.
FoundCases invented_cases(const std::vector<ListedCase>& invented, uint64_t bytes_of_each);

}  // namespace larmor
