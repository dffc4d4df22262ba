// Filling a new grid of voxels from an old one through an affine map of indices. Values outside are those
// of the border.
#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "larmor/data/affine.h"

namespace larmor {

using GridSize = std::array<int64_t, 3>;

/// voxels [C, X, Y, Z] float32 to [C, size…] float32; `to_source` takes a new index to an old one. Trilinear,
/// or the nearest voxel (halves to even).
at::Tensor sample(const at::Tensor& voxels, const Affine& to_source, const GridSize& size, bool nearest);

}  // namespace larmor
