#include "larmor/kernels/projector/projector_cpu.h"

#include <algorithm>
#include <cmath>

namespace larmor {
namespace {

using rays::Grid;
using rays::Ray;

/// A ray in the precision of the volume, and the memory that it goes through.
template <class Number>
struct Path {
  Path(const Ray& ray, const Grid& grid)
      : at{static_cast<Number>(ray.at[0]), static_cast<Number>(ray.at[1])},
        per_slice{static_cast<Number>(ray.per_slice[0]), static_cast<Number>(ray.per_slice[1])},
        size{grid.size[rays::first_beside(ray.axis)], grid.size[rays::second_beside(ray.axis)]},
        stride{grid.stride(rays::first_beside(ray.axis)), grid.stride(rays::second_beside(ray.axis))},
        slice_stride(grid.stride(ray.axis)) {}

  bool is_inside(int slice) const {
    for (int i = 0; i < 2; ++i) {
      const Number position = at[i] + per_slice[i] * static_cast<Number>(slice);
      if (!(position >= 0 && position < static_cast<Number>(size[i] - 1))) return false;
    }
    return true;
  }

  Number at[2], per_slice[2];
  int64_t size[2], stride[2], slice_stride;
};

struct Slices {
  int first, end;
};

/// Of `slices`, those in which all four neighbours of the ray are voxels: one stretch, since the position
/// changes monotonously from slice to slice, rounded or not.
template <class Number>
Slices slices_inside(const Path<Number>& path, Slices slices) {
  auto [first, end] = slices;
  for (int i = 0; i < 2; ++i) {
    if (path.per_slice[i] == 0) continue;
    const double at_0 = -static_cast<double>(path.at[i]) / static_cast<double>(path.per_slice[i]);
    const double at_end =
        at_0 + static_cast<double>(path.size[i] - 1) / static_cast<double>(path.per_slice[i]);
    // One more on either side than computed: rounding is left to the test of the ends below.
    const double low = first, high = end;
    first = static_cast<int>(std::clamp(std::min(at_0, at_end) - 1, low, high));
    end = static_cast<int>(std::clamp(std::max(at_0, at_end) + 2, low, high));
    if (first >= end) break;
  }
  while (first < end && !path.is_inside(first)) ++first;
  while (first < end && !path.is_inside(end - 1)) --end;
  return first < end ? Slices{first, end} : Slices{slices.end, slices.end};
}

/// Calls use(slice, offset, piercings) where all four neighbours exist, and use_some() where some may not.
template <class Number, class Use, class UseSome>
[[gnu::always_inline]] inline void for_each_slice(const Path<Number>& path, Slices slices, const Use& use,
                                                  const UseSome& use_some) {
  const Slices inside = slices_inside(path, slices);
  for (int slice = slices.first; slice < inside.first; ++slice) use_some(slice);
  for (int slice = inside.first; slice < inside.end; ++slice) use(slice);
  for (int slice = inside.end; slice < slices.end; ++slice) use_some(slice);
}

/// Calls visit(offset, weight) for those of the four voxels around the ray that exist.
template <class Number, class Visit>
void visit_some(const Path<Number>& path, int slice, const Visit& visit) {
  const auto a = rays::pierce(path.at[0], path.per_slice[0], slice);
  const auto b = rays::pierce(path.at[1], path.per_slice[1], slice);
  for (int64_t i = std::max<int64_t>(a.index, 0); i <= std::min(a.index + 1, path.size[0] - 1); ++i) {
    for (int64_t j = std::max<int64_t>(b.index, 0); j <= std::min(b.index + 1, path.size[1] - 1); ++j)
      visit(slice * path.slice_stride + i * path.stride[0] + j * path.stride[1],
            rays::weight_of(a, i) * rays::weight_of(b, j));
  }
}

template <class Number>
struct Corners {
  int64_t offset;
  Number weight[4];
};

template <class Number>
[[gnu::always_inline]] inline Corners<Number> corners_of(const Path<Number>& path, int slice) {
  // Inside positions are not below zero: truncation is the floor.
  const Number p = path.at[0] + path.per_slice[0] * static_cast<Number>(slice);
  const Number q = path.at[1] + path.per_slice[1] * static_cast<Number>(slice);
  const int i = static_cast<int>(p), j = static_cast<int>(q);
  const Number f = p - static_cast<Number>(i), g = q - static_cast<Number>(j);
  return {slice * path.slice_stride + i * path.stride[0] + j * path.stride[1],
          {(1 - f) * (1 - g), (1 - f) * g, f * (1 - g), f * g}};
}

template <class Number>
Number integrate(const Number* volume, const Ray& ray, const Grid& grid) {
  const Path<Number> path(ray, grid);
  const int64_t down = path.stride[0], across = path.stride[1];
  Number sum = 0;
  for_each_slice(
      path, {ray.first, ray.end},
      [&](int slice) {
        const auto corners = corners_of(path, slice);
        const Number* voxel = volume + corners.offset;
        sum += (corners.weight[0] * voxel[0] + corners.weight[1] * voxel[across]) +
               (corners.weight[2] * voxel[down] + corners.weight[3] * voxel[down + across]);
      },
      [&](int slice) {
        visit_some(path, slice, [&](int64_t offset, Number weight) { sum += weight * volume[offset]; });
      });
  return sum * static_cast<Number>(std::sqrt(ray.mm_per_slice_squared));
}

template <class Number>
void smear(Number* volume, const Ray& ray, const Grid& grid, Slices slices, Number pixel) {
  const Path<Number> path(ray, grid);
  const int64_t down = path.stride[0], across = path.stride[1];
  const Number value = pixel * static_cast<Number>(std::sqrt(ray.mm_per_slice_squared));
  for_each_slice(
      path, slices,
      [&](int slice) {
        const auto corners = corners_of(path, slice);
        Number* voxel = volume + corners.offset;
        voxel[0] += corners.weight[0] * value;
        voxel[across] += corners.weight[1] * value;
        voxel[down] += corners.weight[2] * value;
        voxel[down + across] += corners.weight[3] * value;
      },
      [&](int slice) {
        visit_some(path, slice, [&](int64_t offset, Number weight) { volume[offset] += weight * value; });
      });
}

/// Whether no ray of a view runs along `axis` most. The directions for which another axis is the largest,
/// with one sign, make a convex set: what holds at the corners holds between them.
bool has_none_along(const Projection& of, const double* view, int axis) {
  int common = -1;
  bool is_positive = false;
  for (const int64_t row : {int64_t{0}, of.rows - 1}) {
    for (const int64_t column : {int64_t{0}, of.columns - 1}) {
      const Ray ray = rays::make_ray(view, row, column, of.grid);
      const int i = rays::direction + ray.axis;
      const bool positive =
          view[i] + static_cast<double>(row) * view[i + 3] + static_cast<double>(column) * view[i + 6] > 0;
      if (ray.axis == axis || (common >= 0 && (ray.axis != common || positive != is_positive))) return false;
      common = ray.axis;
      is_positive = positive;
    }
  }
  return true;
}

}  // namespace

template <class Number>
void project_rows(const Projection& of, const Number* volumes, Number* images, int64_t first, int64_t end) {
  for (int64_t i = first; i < end; ++i) {
    const int64_t row = i % of.rows, view = i / of.rows % of.views, volume = i / of.rows / of.views;
    for (int64_t column = 0; column < of.columns; ++column) {
      const Ray ray = rays::make_ray(of.view(volume, view), row, column, of.grid);
      images[i * of.columns + column] = integrate(volumes + volume * of.voxels(), ray, of.grid);
    }
  }
}

template <class Number>
void back_project_slices(const Projection& of, const Number* images, Number* volumes, int axis, int64_t first,
                         int64_t end) {
  const int64_t slices = of.grid.size[axis];
  for (int64_t volume = first / slices; volume * slices < end; ++volume) {
    const auto from = static_cast<int>(std::max(first - volume * slices, int64_t{0}));
    const auto until = static_cast<int>(std::min(end - volume * slices, slices));
    for (int64_t view = 0; view < of.views; ++view) {
      const double* geometry = of.view(volume, view);
      if (has_none_along(of, geometry, axis)) continue;
      const Number* image = images + (volume * of.views + view) * of.rows * of.columns;
      for (int64_t i = 0; i < of.rows * of.columns; ++i) {
        const Ray ray = rays::make_ray(geometry, i / of.columns, i % of.columns, of.grid);
        const Slices of_ray{std::max(ray.first, from), std::min(ray.end, until)};
        if (ray.axis == axis && of_ray.first < of_ray.end)
          smear(volumes + volume * of.voxels(), ray, of.grid, of_ray, image[i]);
      }
    }
  }
}

template void project_rows(const Projection&, const float*, float*, int64_t, int64_t);
template void project_rows(const Projection&, const double*, double*, int64_t, int64_t);
template void back_project_slices(const Projection&, const float*, float*, int, int64_t, int64_t);
template void back_project_slices(const Projection&, const double*, double*, int, int64_t, int64_t);

}  // namespace larmor
