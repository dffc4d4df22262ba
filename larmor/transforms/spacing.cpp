#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/transforms/grids.h"
#include "larmor/transforms/lazy_volume.h"
#include "larmor/transforms/sampling.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

namespace {

/// Differences in mm that do not count. MONAI's AFFINE_TOL.
constexpr double tolerance = 1e-3;

std::array<double, 3> wanted_spacing(const Affine& affine, const std::array<double, 3>& spacing) {
  const auto present = spacing_of(affine);
  std::array<double, 3> wanted = spacing;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!(spacing[axis] > 0) || std::abs(present[axis] - spacing[axis]) <= tolerance)
      wanted[axis] = present[axis];
  }
  return wanted;
}

/// The affine's axes made perpendicular, first to last (Gram and Schmidt; the QR factor that MONAI finds by
/// Cholesky), and as long as `spacing` says. No translation yet.
Affine at_right_angles(const Affine& affine, const std::array<double, 3>& spacing) {
  Affine result = identity_affine();
  for (int column = 0; column < 3; ++column) {
    std::array<double, 3> axis{affine[0][column], affine[1][column], affine[2][column]};
    for (int before = 0; before < column; ++before) {
      double along = 0;
      for (int row = 0; row < 3; ++row) along += axis[row] * result[row][before];
      for (int row = 0; row < 3; ++row) axis[row] -= along * result[row][before];
    }
    const double length = std::hypot(axis[0], axis[1], axis[2]);
    for (int row = 0; row < 3; ++row) result[row][column] = axis[row] / length;
  }
  for (int column = 0; column < 3; ++column) {
    for (int row = 0; row < 3; ++row) result[row][column] *= spacing[column];
  }
  return result;
}

struct Grid {
  GridSize size{};
  Affine affine = identity_affine();
};

std::array<double, 3> corner_index(const GridSize& size, int corner) {
  std::array<double, 3> index{};
  for (int axis = 0; axis < 3; ++axis) {
    // The last axis varies fastest: the first corner that fits is taken, and MONAI counts this way.
    index[axis] = corner >> (2 - axis) & 1 ? static_cast<double>(size[axis] - 1) : 0;
  }
  return index;
}

/// So many voxels come of one where a unit was mistaken, and each thread that loads would hold them. Compared
/// before they become whole numbers, which may not hold them.
void refuse_growth(const GridSize& size, const Affine& affine, const std::array<double, 3>& lengths) {
  constexpr double most = 512;
  double growth = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) growth *= lengths[axis] / static_cast<double>(size[axis]);
  if (growth <= most) return;
  const auto present = spacing_of(affine);
  fail(Exit::data,
       text("would have ", growth, " times as many voxels when it is resampled, and not more than ", most,
            " times as many are made: its voxels are ", present[0], " x ", present[1], " x ", present[2],
            " mm"),
       "correct the spacing in the file's header, which is in millimetres, or choose a larger pixdim");
}

/// Size and place of the grid with `directions` that holds the old one. It starts at the old corner with the
/// smallest coordinates; when shear leaves no such corner, the two centres are laid on each other.
Grid covering_grid(const GridSize& old_size, const Affine& old_affine, const Affine& directions) {
  const auto to_new = inverse(directions);
  if (!to_new)
    fail(Exit::data, "the affine is singular, so the volume cannot be resampled",
         "correct the file's header");
  const Affine map = compose(*to_new, old_affine);
  std::array<std::array<double, 3>, 8> corners{};
  for (int corner = 0; corner < 8; ++corner) corners[corner] = position(map, corner_index(old_size, corner));
  std::array<double, 3> low = corners[0], high = corners[0];
  for (const auto& corner : corners) {
    for (int axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], corner[axis]);
      high[axis] = std::max(high[axis], corner[axis]);
    }
  }
  std::array<double, 3> lengths{};
  for (int axis = 0; axis < 3; ++axis) lengths[axis] = std::nearbyint(high[axis] - low[axis] + 1);
  refuse_growth(old_size, old_affine, lengths);
  Grid grid{{}, directions};
  for (int axis = 0; axis < 3; ++axis)
    grid.size[axis] = std::max<int64_t>(1, static_cast<int64_t>(lengths[axis]));
  std::optional<std::array<double, 3>> start;
  for (int corner = 0; corner < 8 && !start; ++corner) {
    bool smallest = true;
    for (int axis = 0; axis < 3; ++axis) smallest = smallest && corners[corner][axis] - low[axis] <= 1e-8;
    if (smallest) start = position(old_affine, corner_index(old_size, corner));
  }
  if (!start) {
    std::array<double, 3> old_half{}, new_half{};
    for (int axis = 0; axis < 3; ++axis) {
      old_half[axis] = static_cast<double>(old_size[axis]) / 2;
      new_half[axis] = static_cast<double>(grid.size[axis]) / 2;
    }
    start = position(old_affine, old_half);
    const auto offset = position(directions, new_half);
    for (int axis = 0; axis < 3; ++axis) (*start)[axis] -= offset[axis];
  }
  for (int axis = 0; axis < 3; ++axis) grid.affine[axis][3] = (*start)[axis];
  return grid;
}

bool nearly_equal(const Affine& one, const Affine& other) {
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 4; ++column) {
      const double allowed = tolerance + 1e-5 * std::abs(other[row][column]);
      if (std::abs(one[row][column] - other[row][column]) > allowed) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<NewGrid> spaced_grid(const GridSize& size, const Affine& affine,
                                   const std::array<double, 3>& spacing) {
  const auto from_world = inverse(affine);
  if (!from_world)
    fail(Exit::data, "the affine is singular, so the volume has no spacing", "correct the file's header");
  const Grid grid = covering_grid(size, affine, at_right_angles(affine, wanted_spacing(affine, spacing)));
  const NewGrid result{grid.size, compose(*from_world, grid.affine)};
  const bool same_place =
      nearly_equal(affine, grid.affine) || nearly_equal(result.to_source, identity_affine());
  if (grid.size == size && same_place) return std::nullopt;
  return result;
}

Volume resample(const Volume& volume, const std::array<double, 3>& spacing, Interpolation interpolation) {
  LazyVolume lazy(volume);
  lazy.resample(spacing, interpolation);
  return lazy.volume();
}

}  // namespace larmor
