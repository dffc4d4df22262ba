#include <algorithm>
#include <cassert>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/transforms.h"

namespace larmor {

std::vector<int64_t> crop_size(const Volume& volume, const std::vector<int64_t>& wanted) {
  if (wanted.size() != 3) fail(Exit::usage, text("a crop has 3 sizes, not ", wanted.size()), "say [x, y, z]");
  std::vector<int64_t> size(3);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const int64_t present = volume.voxels.size(static_cast<int64_t>(axis) + 1);
    size[axis] = wanted[axis] > 0 ? std::min(wanted[axis], present) : present;
  }
  return size;
}

Volume crop_at(const Volume& volume, const std::vector<int64_t>& corner, const std::vector<int64_t>& size) {
  assert(corner.size() == 3 && size.size() == 3);
  at::Tensor voxels = volume.voxels;
  Affine shift = identity_affine();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    voxels = voxels.narrow(static_cast<int64_t>(axis) + 1, corner[axis], size[axis]);
    shift[axis][3] = static_cast<double>(corner[axis]);
  }
  // Its own memory, or a crop kept in a cache would keep the whole volume.
  return {voxels.clone(at::MemoryFormat::Contiguous), compose(volume.affine, shift)};
}

Volume center_crop(const Volume& volume, const std::vector<int64_t>& wanted) {
  const std::vector<int64_t> size = crop_size(volume, wanted);
  std::vector<int64_t> corner(3);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    // Both halves rounded down, each for itself, as MONAI does: not (n - size) / 2.
    corner[axis] = volume.voxels.size(static_cast<int64_t>(axis) + 1) / 2 - size[axis] / 2;
  }
  return crop_at(volume, corner, size);
}

}  // namespace larmor
