// The voxels of a volume that the program has written.
#pragma once

#include <filesystem>
#include <vector>

namespace larmor::testing {

/// Of a .nii.gz of float32 without extensions, in the order of the file.
std::vector<float> voxels_in(const std::filesystem::path& file);

}  // namespace larmor::testing
