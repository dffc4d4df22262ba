#include "larmor/transforms/common_grid.h"

#include <cmath>
#include <cstddef>

#include <ATen/core/Tensor.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/transforms/resample_like.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

namespace {

bool on_one_grid(const Volume& left, const Volume& right) {
  if (!left.voxels.sizes().slice(1).equals(right.voxels.sizes().slice(1))) return false;
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 4; ++column) {
      if (std::abs(left.affine[row][column] - right.affine[row][column]) > 1e-3) return false;
    }
  }
  return true;
}

std::string sizes_of(const Volume& volume) {
  const auto sizes = volume.voxels.sizes();
  return text(sizes[1], " x ", sizes[2], " x ", sizes[3]);
}

}  // namespace

Volume on_grid_of(const Volume& image, const std::string& name_of_image, Volume volume,
                  const std::string& name, const CommonGrid& rule) {
  if (on_one_grid(image, volume)) return volume;
  // The same voxels in another order of axes are no other grid.
  Volume turned = orient(volume, axcodes_of(image.affine));
  if (on_one_grid(image, turned)) return turned;
  if (!rule.resamples) {
    fail(Exit::data,
         text(name, ": its grid (", sizes_of(volume), " voxels, or their place) is not that of ",
              name_of_image, " (", sizes_of(image), ")"),
         "register them to one grid, or say data.grids=resample");
  }
  const auto sizes = image.voxels.sizes();
  return resample_like(volume, image.affine, {sizes[1], sizes[2], sizes[3]}, rule.interpolation);
}

}  // namespace larmor
