// .npy and .npz: NumPy's own format, and the zip of several. Numbers only; object arrays are pickles,
// which can run code when they are read, and are refused.
// Source: numpy.lib.format, versions 1 to 3.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include <ATen/core/Tensor.h>

#include "larmor/formats/stored_array.h"

namespace larmor {

/// The array of a .npy, or one array of a .npz: `key`, or when it is empty the key "arr0", else "arr_0", else
/// the first. Throws Error (data): damaged, lying, not numbers, no such key (naming those there are). The
/// path is the caller's to add.
StoredArray open_numpy(const std::filesystem::path& path, const std::string& key = "");
/// The same as float32, shape as in the file; errors name the path.
at::Tensor read_numpy(const std::filesystem::path& path, const std::string& key = "");

/// Told by the first bytes.
bool looks_like_numpy(std::span<const std::byte> bytes);
/// The array of a .npy file's bytes. Takes them over.
StoredArray parse_npy(Bytes file);

}  // namespace larmor
