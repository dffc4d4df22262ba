// The matrix that says where voxels are in the body, and the little algebra that it needs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace larmor {

/// Row-major 4 x 4: voxel index (i, j, k, 1) to millimetres, RAS+ world (x to the Right, y Anterior, z
/// Superior).
using Affine = std::array<std::array<double, 4>, 4>;

Affine identity_affine();
/// Of `size` voxels that fill a cube of so many mm around the origin. Requires: three sizes above 0.
Affine centred_affine(const std::vector<int64_t>& size, double field_of_view);
/// Length of each column, mm per voxel along axes 0, 1, 2.
std::array<double, 3> spacing_of(const Affine& affine);

/// `second` after `first`: the matrix product second * first.
Affine compose(const Affine& second, const Affine& first);
/// Of the upper left 3 x 3 part.
double determinant(const Affine& affine);
/// Nothing when the matrix is singular or not finite.
std::optional<Affine> inverse(const Affine& affine);
bool is_finite(const Affine& affine);
/// Where a voxel index is.
std::array<double, 3> position(const Affine& affine, const std::array<double, 3>& index);

}  // namespace larmor
