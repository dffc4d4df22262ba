// Onto another grid: what a network made of a reoriented, resampled volume, where the input's voxels are; a
// second modality where those of the first one are.
#pragma once

#include "larmor/formats/volume.h"
#include "larmor/transforms/sampling.h"

namespace larmor {

/// The volume sampled (border values outside) at the voxels of a grid with `affine` and `size` voxels an
/// axis. Throws Error (data) when the volume's affine cannot be inverted.
Volume resample_like(const Volume& volume, const Affine& affine, const GridSize& size,
                     Interpolation interpolation = Interpolation::trilinear);

}  // namespace larmor
