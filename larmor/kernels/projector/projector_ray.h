// The arithmetic of one ray and of one voxel, for whoever computes: loops on CPUs (projector_cpu.cpp), one
// thread a pixel or a voxel on GPUs (projector_cuda.cu). Joseph's method: a ray takes one bilinear sample of
// each slice across the axis that it runs along most. Requires: a source that is built without fused
// multiplications and additions; then project() and its adjoint weigh with the same bits everywhere.
// Source: Joseph, "An improved algorithm for reprojecting rays through pixel images", IEEE TMI 1982.
#pragma once

#include <cstdint>

namespace larmor::rays {

// Where in the ray_numbers of a view what stands. A ray is the line point + t direction, in indices of
// voxels; both change linearly with row and column.
constexpr int point = 0, point_per_row = 3, point_per_column = 6;
constexpr int direction = 9, direction_per_row = 12, direction_per_column = 15;
constexpr int mm = 18;        // 3 x 3, row-major: a step in indices to one in mm
constexpr int is_cone = 27;   // 1: t runs from 0, the source, to 1, the detector; 0: it has no ends
constexpr int to_pixel = 28;  // 3 x 3: a position less `point` to (row, column, t), of a cone times t
constexpr int numbers = 37;

/// The sizes of a volume, and the distances between its neighbours in memory.
struct Grid {
  int64_t size[3];
  [[gnu::always_inline]] constexpr int64_t stride(int axis) const {
    return axis == 2 ? 1 : axis == 1 ? size[2] : size[1] * size[2];
  }
};

/// The two axes beside `axis`, in their order.
[[gnu::always_inline]] constexpr int first_beside(int axis) { return axis == 0 ? 1 : 0; }
[[gnu::always_inline]] constexpr int second_beside(int axis) { return axis == 2 ? 1 : 2; }

[[gnu::always_inline]] constexpr double magnitude(double x) { return x < 0 ? -x : x; }
[[gnu::always_inline]] constexpr double larger(double a, double b) { return a > b ? a : b; }
[[gnu::always_inline]] constexpr double smaller(double a, double b) { return a < b ? a : b; }

struct Ray {
  int axis = 0;              // that it runs along most: its slices are counted along it
  int first = 0, end = 0;    // slices where it may meet the volume
  double at[2] = {};         // index along the two other axes in slice 0
  double per_slice[2] = {};  // how far it goes there from slice to slice
  double mm_per_slice_squared = 0;
};

/// Narrows [low, high] to the slices in which the index along another axis of `size` voxels is above -1 and
/// below `size`: beyond, no voxel has a weight.
[[gnu::always_inline]] constexpr void narrow(double& low, double& high, double at, double per_slice,
                                             int64_t size) {
  const double below = -1 - at, above = static_cast<double>(size) - at;
  if (per_slice == 0) {
    if (!(below < 0 && above > 0)) high = -1;
    return;
  }
  low = larger(low, smaller(below / per_slice, above / per_slice));
  high = smaller(high, larger(below / per_slice, above / per_slice));
}

constexpr Ray make_ray(const double* view, int64_t row, int64_t column, const Grid& grid) {
  const auto r = static_cast<double>(row), c = static_cast<double>(column);
  double from[3] = {}, along[3] = {};
  for (int i = 0; i < 3; ++i) {
    from[i] = view[point + i] + r * view[point_per_row + i] + c * view[point_per_column + i];
    along[i] = view[direction + i] + r * view[direction_per_row + i] + c * view[direction_per_column + i];
  }
  Ray ray;
  if (magnitude(along[1]) > magnitude(along[0])) ray.axis = 1;
  if (magnitude(along[2]) > magnitude(along[ray.axis])) ray.axis = 2;
  const double start = from[ray.axis], step = along[ray.axis];
  for (int i = 0; i < 3; ++i) {
    const double* line = view + mm + 3 * i;
    const double part = (line[0] * along[0] + line[1] * along[1] + line[2] * along[2]) / step;
    ray.mm_per_slice_squared += part * part;
  }
  double low = 0, high = static_cast<double>(grid.size[ray.axis] - 1);
  if (view[is_cone] != 0) {
    low = larger(low, smaller(start, start + step));
    high = smaller(high, larger(start, start + step));
  }
  for (int which = 0; which < 2; ++which) {
    const int axis = which == 0 ? first_beside(ray.axis) : second_beside(ray.axis);
    const double per_slice = along[axis] / step;
    // What is left of a sine that should be zero moves no ray, and would divide below.
    ray.per_slice[which] = magnitude(per_slice) < 1e-12 ? 0 : per_slice;
    ray.at[which] = from[axis] - start * ray.per_slice[which];
    narrow(low, high, ray.at[which], ray.per_slice[which], grid.size[axis]);
  }
  if (!(low <= high)) return ray;
  ray.first = static_cast<int>(low);
  if (static_cast<double>(ray.first) < low) ++ray.first;
  ray.end = static_cast<int>(high) + 1;
  return ray;
}

/// Where a ray pierces a slice, along one of the slice's axes: between voxels `index` and index + 1, with
/// weights 1 - fraction and fraction.
template <class Number>
struct Piercing {
  int64_t index;
  Number fraction;
};

template <class Number>
[[gnu::always_inline]] constexpr Piercing<Number> pierce(Number at, Number per_slice, int slice) {
  const Number position = at + per_slice * static_cast<Number>(slice);
  auto index = static_cast<int64_t>(position);
  if (static_cast<Number>(index) > position) --index;
  return {index, position - static_cast<Number>(index)};
}

/// The weight of voxel `index`, zero where the ray passes by it.
template <class Number>
[[gnu::always_inline]] constexpr Number weight_of(const Piercing<Number>& piercing, int64_t index) {
  return index == piercing.index       ? 1 - piercing.fraction
         : index == piercing.index + 1 ? piercing.fraction
                                       : 0;
}

/// Rows and columns of a detector, ends not included.
struct PixelBox {
  int64_t first_row = 0, end_row = 0, first_column = 0, end_column = 0;
};

/// The pixels whose rays may pass within one voxel of a voxel, along each axis. A few more than do.
constexpr PixelBox pixels_near(const double* view, const int64_t* voxel, int64_t rows, int64_t columns) {
  double low[2] = {1e300, 1e300}, high[2] = {-1e300, -1e300};
  for (int corner = 0; corner < 8; ++corner) {
    double away[3] = {}, pixel[3] = {};
    for (int i = 0; i < 3; ++i)
      away[i] = static_cast<double>(voxel[i] + ((corner >> i) & 1) * 2 - 1) - view[point + i];
    for (int i = 0; i < 3; ++i) {
      const double* line = view + to_pixel + 3 * i;
      pixel[i] = line[0] * away[0] + line[1] * away[1] + line[2] * away[2];
    }
    const bool cone = view[is_cone] != 0;
    if (cone && !(pixel[2] > 1e-9)) return {0, rows, 0, columns};  // beside the source: any pixel
    for (int i = 0; i < 2; ++i) {
      const double at = cone ? pixel[i] / pixel[2] : pixel[i];
      low[i] = smaller(low[i], at);
      high[i] = larger(high[i], at);
    }
  }
  const auto first = [](double at, int64_t size) {
    return static_cast<int64_t>(smaller(larger(at - 1, 0), static_cast<double>(size)));
  };
  const auto end = [](double at, int64_t size) {
    return static_cast<int64_t>(smaller(larger(at + 2, 0), static_cast<double>(size)));
  };
  return {first(low[0], rows), end(high[0], rows), first(low[1], columns), end(high[1], columns)};
}

}  // namespace larmor::rays
