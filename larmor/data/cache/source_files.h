// Which files a volume is read from, and what each of them looks like without being read whole.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/data/index/index.h"

namespace larmor {

/// The files of a volume, since voxels and grid may stand in different ones (files_of_volume()); the files of
/// a folder (a series of slices), sorted.
std::vector<std::filesystem::path> source_files(const std::filesystem::path& source);

/// Of all files of the volume; nothing where one of them cannot be read. Reads a file of up to 128 KiB whole,
/// of a longer one eight blocks of 16 KiB, the first and the last among them; of a folder's files, and
/// `of_many` of each file, the first and the last block.
std::optional<FileState> state_of_source(const std::filesystem::path& source, bool of_many = false);

/// states_of_files() of what there is `now` of a run that remembers `start`. Where the run has so many files
/// that reading them takes minutes, those are not read whose size and time of change are as remembered; of
/// few files each is read, as nothing is saved by trusting their times.
std::map<std::string, FileState> states_since(const Index& start, const Index& now);

/// Calls `work` with 0 … count - 1 from a few threads: waiting for a disk far away is most of it, so they
/// help even where there is one core. Blocks. `work` must not throw.
void over_threads(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace larmor
