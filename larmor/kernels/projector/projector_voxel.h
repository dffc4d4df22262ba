// The sums of one ray and of one voxel in the shape that a GPU's threads want them: each reads, and none
// writes where another does.
#pragma once

#include <cstdint>

#include "larmor/kernels/projector/projector_cpu.h"
#include "larmor/kernels/projector/projector_ray.h"

namespace larmor::rays {

/// What project() gives a pixel, times 1 / mm_per_slice.
template <class Number>
constexpr Number integral(const Number* volume, const Ray& ray, const Grid& grid, Number mm_per_slice) {
  const int beside[2] = {first_beside(ray.axis), second_beside(ray.axis)};
  Number sum = 0;
  for (int slice = ray.first; slice < ray.end; ++slice) {
    const auto a = pierce(static_cast<Number>(ray.at[0]), static_cast<Number>(ray.per_slice[0]), slice);
    const auto b = pierce(static_cast<Number>(ray.at[1]), static_cast<Number>(ray.per_slice[1]), slice);
    for (int64_t i = a.index; i <= a.index + 1; ++i) {
      for (int64_t j = b.index; j <= b.index + 1; ++j) {
        if (i < 0 || j < 0 || i >= grid.size[beside[0]] || j >= grid.size[beside[1]]) continue;
        sum +=
            weight_of(a, i) * weight_of(b, j) *
            volume[slice * grid.stride(ray.axis) + i * grid.stride(beside[0]) + j * grid.stride(beside[1])];
      }
    }
  }
  return sum * mm_per_slice;
}

/// What back_project() gives voxel `index` of [volumes, D, H, W]. `root` is the square root, an instruction
/// and on each device another one.
template <class Number, class Root>
constexpr Number voxel_sum(const Projection& of, const Number* images, int64_t index, const Root& root) {
  const int64_t volume = index / of.voxels(), in_volume = index % of.voxels();
  const int64_t voxel[3] = {in_volume / of.grid.stride(0), in_volume / of.grid.stride(1) % of.grid.size[1],
                            in_volume % of.grid.size[2]};
  Number sum = 0;
  for (int64_t number = 0; number < of.views; ++number) {
    const double* view = of.view(volume, number);
    const Number* image = images + (volume * of.views + number) * of.rows * of.columns;
    const PixelBox box = pixels_near(view, voxel, of.rows, of.columns);
    for (int64_t row = box.first_row; row < box.end_row; ++row) {
      for (int64_t column = box.first_column; column < box.end_column; ++column) {
        const Ray ray = make_ray(view, row, column, of.grid);
        const int64_t at_slice = voxel[ray.axis];
        if (at_slice < ray.first || at_slice >= ray.end) continue;
        const auto slice = static_cast<int>(at_slice);
        const auto a = pierce(static_cast<Number>(ray.at[0]), static_cast<Number>(ray.per_slice[0]), slice);
        const auto b = pierce(static_cast<Number>(ray.at[1]), static_cast<Number>(ray.per_slice[1]), slice);
        const Number weight =
            weight_of(a, voxel[first_beside(ray.axis)]) * weight_of(b, voxel[second_beside(ray.axis)]);
        const auto mm_per_slice = static_cast<Number>(root(ray.mm_per_slice_squared));
        sum += weight * (image[row * of.columns + column] * mm_per_slice);
      }
    }
  }
  return sum;
}

}  // namespace larmor::rays
