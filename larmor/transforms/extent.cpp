#include "larmor/transforms/extent.h"

#include <algorithm>
#include <cstddef>

#include "larmor/transforms/affine_draw.h"
#include "larmor/transforms/grids.h"

namespace larmor {

namespace {

bool has_size(const Extent& extent) {
  return std::all_of(extent.size.begin(), extent.size.end(), [](int64_t voxels) { return voxels > 0; });
}

bool is_cube(const GridSize& size) { return size[0] == size[1] && size[1] == size[2]; }

}  // namespace

// Where the corner lies does not matter to any size: the directions of the axes are kept, and their steps.
void orient(Extent& extent, const std::string& axcodes) {
  if (!extent.affine) {
    if (!is_cube(extent.size)) extent.size = {};
    return;
  }
  const Turn turn = turn_to(*extent.affine, axcodes);
  const Extent before = extent;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto old = static_cast<std::size_t>(turn.order[axis]);
    extent.size[axis] = before.size[old];
    for (std::size_t row = 0; row < 3; ++row)
      (*extent.affine)[row][axis] = (turn.flip[axis] ? -1 : 1) * (*before.affine)[row][old];
  }
}

void respace(Extent& extent, const std::array<double, 3>& spacing) {
  if (!extent.affine || !has_size(extent)) {
    extent = {};
    return;
  }
  const auto grid = spaced_grid(extent.size, *extent.affine, spacing);
  if (grid) extent = {grid->size, compose(*extent.affine, grid->to_source)};
}

void resize(Extent& extent, const GridSize& wanted) {
  const Extent before = extent;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (wanted[axis] > 0) extent.size[axis] = wanted[axis];
  }
  if (!before.affine) return;
  if (has_size(before))
    extent.affine = compose(*before.affine, between_faces(extent.size, before.size));
  else
    extent.affine.reset();
}

void crop(Extent& extent, const GridSize& wanted) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    int64_t& voxels = extent.size[axis];
    if (wanted[axis] > 0) voxels = voxels > 0 ? std::min(voxels, wanted[axis]) : wanted[axis];
  }
}

void pad(Extent& extent, const GridSize& wanted) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    int64_t& voxels = extent.size[axis];
    if (voxels > 0) voxels = std::max(voxels, wanted[axis]);
  }
}

}  // namespace larmor
