// How large a volume is, from its header.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>

namespace larmor {

struct VolumeSize {
  std::array<int64_t, 3> voxels = {};
  std::array<double, 3> spacing_mm = {1, 1, 1};
};

/// Nothing for what has fewer than three axes, and for what cannot be read. Never throws for a bad file.
std::optional<VolumeSize> size_of_volume(const std::filesystem::path& path);

}  // namespace larmor
