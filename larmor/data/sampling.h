// Filling a new grid of voxels from an old one through an affine map of indices. Values outside are those
// of the border.
#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "larmor/data/affine.h"

namespace larmor {

using GridSize = std::array<int64_t, 3>;

/// The part of a grid that is wanted. Any part has the very bits that the whole would have there.
struct GridPart {
  GridSize whole{}, corner{}, size{};
};

/// voxels [C, X, Y, Z] float32 to [C, part.size…] float32; `to_source` takes an index of the whole new grid
/// to an old one. Trilinear, or the nearest voxel (halves to even). Keeps the order of axes in memory.
at::Tensor sample(const at::Tensor& voxels, const Affine& to_source, const GridPart& part, bool nearest);

}  // namespace larmor
