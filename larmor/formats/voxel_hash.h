// The hash by which two files are seen to hold the same voxels, however they are stored.
#pragma once

#include <cstddef>
#include <string>

#include "larmor/formats/stored_array.h"

namespace larmor {

/// SHA-256 of the voxels as float32 (scaled in float64, rounded once, in the machine's byte order), the first
/// axis fastest. Whatever the array's order, no more than `held` bytes are held beside it, and a megabyte or
/// two.
std::string hash_of_voxels(const StoredArray& array, std::size_t held = std::size_t{64} << 20);

}  // namespace larmor
