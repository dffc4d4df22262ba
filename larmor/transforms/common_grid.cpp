#include "larmor/transforms/common_grid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include <ATen/core/Tensor.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/transforms/resample_like.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

namespace {

constexpr double farthest_apart = 1e-3;  // mm

bool on_one_grid(const Volume& left, const Volume& right) {
  if (!left.voxels.sizes().slice(1).equals(right.voxels.sizes().slice(1))) return false;
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 4; ++column) {
      if (std::abs(left.affine[row][column] - right.affine[row][column]) > farthest_apart) return false;
    }
  }
  return true;
}

std::string sizes_of(const Volume& volume) {
  const auto sizes = volume.voxels.sizes();
  return text(sizes[1], " x ", sizes[2], " x ", sizes[3]);
}

/// Of the two voxels at the corner that is farthest off, mm. Requires: equal sizes.
double distance(const Volume& left, const Volume& right) {
  double farthest = 0;
  for (unsigned corner = 0; corner < 8; ++corner) {
    std::array<double, 3> index{};
    for (unsigned axis = 0; axis < 3; ++axis)
      index[axis] = (corner >> axis & 1) != 0 ? static_cast<double>(left.voxels.size(1 + axis) - 1) : 0;
    const auto one = position(left.affine, index), other = position(right.affine, index);
    farthest = std::max(farthest, std::hypot(one[0] - other[0], one[1] - other[1], one[2] - other[2]));
  }
  return farthest;
}

std::string difference(const Volume& image, const Volume& volume, const std::string& name_of_image) {
  if (image.voxels.sizes().slice(1).equals(volume.voxels.sizes().slice(1)))
    return text("its grid of ", sizes_of(volume), " voxels lies up to ", fixed(distance(image, volume), 4),
                " mm away from that of ", name_of_image, ", and its affine may differ by ", farthest_apart);
  return text("its grid has ", sizes_of(volume), " voxels, and that of ", name_of_image, ' ',
              sizes_of(image));
}

}  // namespace

Volume on_grid_of(const Volume& image, const std::string& name_of_image, Volume volume,
                  const std::string& name, const CommonGrid& rule) {
  if (on_one_grid(image, volume)) return volume;
  // The same voxels in another order of axes are no other grid.
  Volume turned = orient(volume, axcodes_of(image.affine));
  if (on_one_grid(image, turned)) return turned;
  if (!rule.resamples) {
    fail(Exit::data, text(name, ": ", difference(image, turned, name_of_image)),
         "register them to one grid, or say data.grids=resample");
  }
  const auto sizes = image.voxels.sizes();
  return resample_like(volume, image.affine, {sizes[1], sizes[2], sizes[3]}, rule.interpolation);
}

}  // namespace larmor
