// The check of an index's files, with a bound on what is held at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "larmor/data/index/index.h"

namespace larmor {

/// As check_files(index, depth). What the threads read at once takes `shared_bytes` at most; a file that
/// finds no room there is read anew by the bounds of its reader, one such file at a time.
std::vector<BadFile> check_files(const Index& index, Depth depth, uint64_t shared_bytes);

class SoundFiles;
/// check_files(index) of those files alone that `sound` does not know as they are; what is found sound is
/// remembered.
std::vector<BadFile> check_files(const Index& index, SoundFiles& sound);
/// The same where there are so many files that it matters, with the list that lies in `cache`.
std::vector<BadFile> check_many_files(const Index& index, const std::filesystem::path& cache);

}  // namespace larmor
