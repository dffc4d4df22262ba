// The loops of the projector on CPUs. No libtorch: spans of memory and sizes.
#pragma once

#include <cstdint>

#include "larmor/kernels/projector/projector_ray.h"

namespace larmor {

/// What stays the same for all rays of a call.
struct Projection {
  rays::Grid grid;
  int64_t volumes, views, rows, columns;
  const double* geometry;  // [volumes, views, rays::numbers]

  constexpr const double* view(int64_t volume, int64_t number) const {
    return geometry + (volume * views + number) * rays::numbers;
  }
  constexpr int64_t voxels() const { return grid.size[0] * grid.size[1] * grid.size[2]; }
};

/// Rows [first, end) of all rows of [volumes, views, rows, columns].
template <class Number>
void project_rows(const Projection& of, const Number* volumes, Number* images, int64_t first, int64_t end);

/// Adds to slices [first, end) of [volumes, slices across `axis`] what the rays along that axis bring there.
/// Each voxel gets its terms by view, row and column, whatever the slices that a call is for.
template <class Number>
void back_project_slices(const Projection& of, const Number* images, Number* volumes, int axis, int64_t first,
                         int64_t end);

}  // namespace larmor
