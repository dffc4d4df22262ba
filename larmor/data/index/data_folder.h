// The folder that a config names, looked through.
#pragma once

#include <filesystem>
#include <string>

#include "larmor/config/run_config.h"
#include "larmor/data/index/folder_scan.h"

namespace larmor {

/// Absolute, normal, without a slash at the end.
std::filesystem::path absolute_path(const std::filesystem::path& path);
/// The name without the first of the patterns' suffixes that it ends in.
std::string without_suffix(const std::string& name, const NamePatterns& patterns);
/// Files of data.folder; sets data.include and data.exclude in `patterns`. Throws Error: usage where a list
/// is given as well, data where there is no folder, or no file of that kind in it.
FolderScan scan_data_folder(const DataConfig& data, NamePatterns& patterns);

}  // namespace larmor
