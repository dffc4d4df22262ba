#include <algorithm>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/transforms/lazy_volume.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

std::vector<int64_t> crop_size(const GridSize& present, const std::vector<int64_t>& wanted) {
  if (wanted.size() != 3) fail(Exit::usage, text("a crop has 3 sizes, not ", wanted.size()), "say [x, y, z]");
  std::vector<int64_t> size(3);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    size[axis] = wanted[axis] > 0 ? std::min(wanted[axis], present[axis]) : present[axis];
  }
  return size;
}

std::vector<int64_t> center_corner(const GridSize& present, const std::vector<int64_t>& size) {
  std::vector<int64_t> corner(3);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    // Both halves rounded down, each for itself, as MONAI does: not (present - size) / 2.
    corner[axis] = present[axis] / 2 - size[axis] / 2;
  }
  return corner;
}

Volume crop_at(const Volume& volume, const std::vector<int64_t>& corner, const std::vector<int64_t>& size) {
  LazyVolume lazy(volume);
  lazy.crop(corner, size);
  return lazy.volume();
}

Volume center_crop(const Volume& volume, const std::vector<int64_t>& wanted) {
  LazyVolume lazy(volume);
  const std::vector<int64_t> size = crop_size(lazy.size(), wanted);
  lazy.crop(center_corner(lazy.size(), size), size);
  return lazy.volume();
}

}  // namespace larmor
