// The three ways in which a NIfTI header places its voxels: sform, qform, spacing alone.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "larmor/formats/affine.h"

namespace larmor {

/// qform: a unit quaternion (its first part implied), spacing, offset, and the handedness of the third axis.
struct NiftiQform {
  std::array<double, 3> quaternion{};  // b, c, d
  std::array<double, 3> offset{};
  double handedness = 1;  // qfac: 1 or -1
};

Affine from_qform(const NiftiQform& qform, const std::array<double, 3>& spacing);
/// How far b² + c² + d² exceeds 1: a unit quaternion does not.
double quaternion_excess(const NiftiQform& qform);
/// The nearest qform of an affine: exact when its axes are at right angles (see `has_shear`).
NiftiQform to_qform(const Affine& affine);
bool has_shear(const Affine& affine);

/// Where the standard's oldest method and Analyze put voxels: the centre at the origin, x to the Left.
Affine from_spacing(const std::vector<int64_t>& shape, const std::array<double, 3>& spacing);

}  // namespace larmor
