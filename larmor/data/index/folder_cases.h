// Cases that are files of a folder, each an image by itself.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "larmor/data/index/find_cases.h"
#include "larmor/data/index/folder_scan.h"

namespace larmor {

struct FoundVolume {
  std::string path;  // by which the volume is read
  std::string file;  // the first that it is made of, which says whose it is
};

/// Each volume a case, of the patient and the split that the data set's layout says; those that it passes
/// over join the account. Throws Error (data) where none is left, and as lay_out().
FoundCases cases_of_places(const DataConfig& data, const NamePatterns& patterns,
                           const std::vector<FoundVolume>& places, FileAccount account);

/// Voxels that lie in a file beside their header are one case with it, of which the header is the name: they
/// become parts of those that are among `files`, which lie below the folder.
void take_voxels_of_headers(const std::filesystem::path& folder, const std::vector<std::string>& files,
                            FileAccount& account);

/// Files with one of the patterns' suffixes below data.folder, joined where data.modalities says so. Throws
/// Error as scan_data_folder(), cases_of_modalities() and lay_out().
FoundCases cases_of_folder(const DataConfig& data, NamePatterns patterns);

}  // namespace larmor
