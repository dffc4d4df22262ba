// Filling a new grid of voxels from an old one through an affine map of indices.
#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "larmor/formats/affine.h"

namespace larmor {

using GridSize = std::array<int64_t, 3>;

/// The part of a grid that is wanted. Any part has the very bits that the whole would have there.
struct GridPart {
  GridSize whole{}, corner{}, size{};
};

/// MONAI's "nearest" (halves to even) and "bilinear", which is trilinear on volumes.
enum class Interpolation { nearest, trilinear };
/// What lies outside a grid, as PyTorch's grid_sample has it without align_corners: nothing (0), its border,
/// or its mirror image.
enum class Outside { zeros, border, reflection };
struct Sampling {
  Interpolation interpolation = Interpolation::trilinear;
  Outside outside = Outside::border;
  bool operator==(const Sampling&) const = default;
};

/// voxels [C, X, Y, Z] float32 to [C, part.size…] float32; `to_source` takes an index of the whole new grid
/// to an old one. Keeps the order of axes in memory. Throws Error (data) when a channel has 2³¹ voxels.
at::Tensor sample(const at::Tensor& voxels, const Affine& to_source, const GridPart& part,
                  const Sampling& sampling);

}  // namespace larmor
