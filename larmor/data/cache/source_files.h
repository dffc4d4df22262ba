// Which files a volume is read from, and what each of them looks like without being read whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "larmor/data/index/index.h"

namespace larmor {

/// The file itself; both halves of a pair, since voxels and grid stand in different files; the files of a
/// folder (a series of slices), sorted.
std::vector<std::filesystem::path> source_files(const std::filesystem::path& source);

/// Of all files of the volume; nothing where one of them cannot be read. Reads a file of up to 128 KiB whole,
/// of a longer one eight blocks of 16 KiB, the first and the last among them; of a folder's files the first
/// and the last block each.
std::optional<FileState> state_of_source(const std::filesystem::path& source);

/// Calls `work` with 0 … count - 1 from a few threads: waiting for a disk far away is most of it, so they
/// help even where there is one core. Blocks. `work` must not throw.
void over_threads(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace larmor
