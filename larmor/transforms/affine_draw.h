// The maps of indices that random rotations, shears, shifts and scalings make, with MONAI's conventions.
#pragma once

#include <array>

#include "larmor/formats/affine.h"
#include "larmor/transforms/sampling.h"

namespace larmor {

/// The parameters of MONAI's RandAffine. Angles about the axes 0, 1, 2 in radians; shears of the index pairs
/// (0,1), (0,2), (1,0), (1,2), (2,0), (2,1), one after the other; voxels; factors of the source's step.
struct AffineDraw {
  std::array<double, 3> rotate{};
  std::array<double, 6> shear{};
  std::array<double, 3> translate{};
  std::array<double, 3> scale{1, 1, 1};
};

/// rotation · shear · translation · scaling, from new indices to old ones, both counted from the centre. A
/// picture (`flat`) turns by the first angle, and its two shears are those of (0,1) and (1,0).
Affine matrix_of(const AffineDraw& drawn, bool flat);
/// Puts a map that counts from centres between grids that count from corners.
Affine about_centres(const Affine& map, const GridSize& size, const GridSize& old_size);
/// An affine from the indices of a grid of `size` to those of `old_size` over the same box: outer faces on
/// outer faces.
Affine between_faces(const GridSize& size, const GridSize& old_size);

}  // namespace larmor
