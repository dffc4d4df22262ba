// Finds the files of a folder that a data set is made of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "larmor/data/index/file_account.h"

namespace larmor {

/// Which names count. A pattern without `/` is held against the file's name, another one against its path
/// relative to the folder.
struct NamePatterns {
  std::vector<std::string> suffixes;  // lower case; any of them
  std::vector<std::string> include;   // any of them; empty: everything
  std::vector<std::string> exclude;   // none of them

  bool has_suffix(const std::string& path) const;
  bool wants(const std::string& path) const;  // by include and exclude alone
};

struct FolderScan {
  std::vector<std::string> files;  // relative to the folder, with `/`, sorted
  int64_t passed_over = 0;         // have a suffix, but include or exclude is against them
  int64_t others = 0;              // have another name
  FileAccount account = {};        // of whatever is not among the files
};

/// Looks into sub-folders and through links. Names that begin with a dot are not taken; a folder that
/// links lead to more than once is entered once. A pattern that fits no file at all is among the warnings.
/// Throws Error (data) when `folder` is not there, is no folder, or something below it cannot be read.
FolderScan scan_folder(const std::filesystem::path& folder, const NamePatterns& patterns);

}  // namespace larmor
