// Back onto another grid: what a network made of a reoriented, resampled volume, where the input's voxels
// are.
#pragma once

#include <array>

#include <ATen/core/Tensor.h>

#include "larmor/formats/volume.h"

namespace larmor {

/// The volume sampled (trilinear, border values outside) at the voxels of a grid with `affine` and
/// `size` voxels an axis. Throws Error (data) when the volume's affine cannot be inverted.
Volume resample_like(const Volume& volume, const Affine& affine, const std::array<int64_t, 3>& size);

}  // namespace larmor
