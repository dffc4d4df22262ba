// Folders that are splits, where no other layout says so: train/, val/ and test/, side by side.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

#include "larmor/data/layout/layout.h"

namespace larmor {

/// Into how many folders one goes before files differ: those that all of them share.
std::size_t shared_folders(const std::vector<PathParts>& files);

/// The level of the folders that name splits: 0 for the first below the data folder. Nothing where none are.
/// `is_told`: a person has said that folders are splits. Throws Error (data) where a folder could as well be
/// a patient: another one or a loose file stands beside splits, several are called like one split, or they
/// stand a level deeper than patients would.
std::optional<std::size_t> level_of_splits(const std::vector<PathParts>& files,
                                           const std::filesystem::path& folder, bool is_told);

}  // namespace larmor
