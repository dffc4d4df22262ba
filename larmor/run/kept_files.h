// What a run keeps in its folder of things that its task is made of beside config and weights: a vocabulary,
// lists of names, counts. With it the run predicts when its data are gone.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "larmor/base/files/storage.h"

namespace larmor {

/// Writes `contents`, by names of files, below `place`/kept, with their hashes. What was kept there before
/// goes first.
void keep_files(const std::map<std::string, std::string>& contents, const std::filesystem::path& place,
                Storage& storage);

/// What is listed there as kept, and nothing else.
void remove_kept_files(const std::filesystem::path& place, Storage& storage);

/// A file that is kept, and its SHA-256.
struct KeptFile {
  std::filesystem::path path;
  std::string sha256;
};
/// What lies below `place`/kept, by name; empty where nothing is kept. Reads every file. Throws Error
/// (checkpoint) where one is not what was written there.
std::map<std::string, KeptFile> kept_files(const std::filesystem::path& place);

}  // namespace larmor
