#include "larmor/data/volume.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/nifti.h"
#include "larmor/data/numpy_file.h"

namespace larmor {

namespace {

/// Axes of one behind the third say nothing; one that is left is the channel.
int64_t channels_of(const std::vector<int64_t>& shape) {
  int64_t channels = 1;
  for (std::size_t axis = 3; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    if (channels != 1) fail(Exit::data, "has more than one axis of channels behind the three of space");
    channels = shape[axis];
  }
  return channels;
}

void check_axes(const StoredArray& array) {
  if (array.shape.size() < 2 || array.shape.size() > 4) {
    fail(Exit::data, text("is an array of ", array.shape.size(),
                          " dimensions; 2, 3, or 4 with the channel first, are a volume"));
  }
}

at::Tensor channels_first(const at::Tensor& voxels, const std::vector<int64_t>& shape) {
  const int64_t channels = channels_of(shape);
  at::Tensor result = voxels;
  for (int64_t axis = voxels.dim() - 1; axis >= 3; --axis) {
    if (shape[static_cast<std::size_t>(axis)] == 1) result = result.squeeze(axis);
  }
  while (result.dim() < 3) result = result.unsqueeze(-1);
  return channels > 1 ? result.movedim(-1, 0) : result.unsqueeze(0);
}

}  // namespace

Volume read_volume(const std::filesystem::path& path) {
  return naming(path, [&]() -> Volume {
    if (is_numpy_file(path)) {
      StoredArray array = open_numpy(path);
      check_axes(array);
      const at::Tensor voxels = to_tensor(std::move(array));
      if (voxels.dim() == 4) return {voxels, identity_affine()};
      return {channels_first(voxels, {}), identity_affine()};
    }
    OpenedNifti opened = open_nifti(path);
    if (!opened.header.fault.empty()) fail(Exit::data, opened.header.fault);
    channels_of(opened.header.shape);
    return {channels_first(to_tensor(std::move(opened.array)), opened.header.shape), opened.header.affine};
  });
}

void check_volume(const std::filesystem::path& path) {
  naming(path, [&] {
    if (is_numpy_file(path)) return check_axes(open_numpy(path));
    const OpenedNifti opened = open_nifti(path);
    if (!opened.header.fault.empty()) fail(Exit::data, opened.header.fault);
    channels_of(opened.header.shape);
  });
}

}  // namespace larmor
