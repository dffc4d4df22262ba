#include "larmor/formats/volume_size.h"

#include "larmor/base/error.h"
#include "larmor/formats/stored_volume.h"

namespace larmor {

std::optional<VolumeSize> size_of_volume(const std::filesystem::path& path) {
  VolumeSize size;
  try {
    const StoredVolume stored = open_volume(path);
    const auto& shape = stored.array.shape;
    if (shape.size() < size.voxels.size()) return std::nullopt;
    const size_t first = stored.channel_is_first ? shape.size() - size.voxels.size() : 0;
    for (size_t axis = 0; axis < size.voxels.size(); ++axis) size.voxels[axis] = shape[first + axis];
    size.affine = stored.affine;
  } catch (const Error&) {
    return std::nullopt;
  }
  return size;
}

}  // namespace larmor
