// How large a volume is and how it lies, from its header.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "larmor/formats/affine.h"

namespace larmor {

struct VolumeSize {
  std::array<int64_t, 3> voxels = {};
  Affine affine = identity_affine();
};

/// Nothing for what has fewer than three axes, and for what cannot be read. Never throws for a bad file.
std::optional<VolumeSize> size_of_volume(const std::filesystem::path& path);

}  // namespace larmor
