// The grids that Orientation and Spacing ask for: pure arithmetic on sizes and affines, no voxels.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "larmor/formats/affine.h"
#include "larmor/transforms/sampling.h"

namespace larmor {

/// Which old axis each new axis is, and which of the new axes then run backwards.
struct Turn {
  std::array<int64_t, 3> order{0, 1, 2};
  std::array<bool, 3> flip{};
  bool flips() const { return flip[0] || flip[1] || flip[2]; }
};

/// The turn from the axes of `affine` to those of `axcodes`: each voxel axis belongs to the world axis it is
/// nearest to, as nibabel decides it. Throws Error: bad codes (usage), singular affine (data).
Turn turn_to(const Affine& affine, const std::string& axcodes);

/// A new grid over an old one.
struct NewGrid {
  GridSize size{};
  Affine to_source = identity_affine();  // new index to old index
};
/// The grid of `spacing` over a grid of `size` and `affine` by MONAI's rules (see resample in transforms.h).
/// Nothing when it would be the same grid. Throws Error (data): singular affine.
std::optional<NewGrid> spaced_grid(const GridSize& size, const Affine& affine,
                                   const std::array<double, 3>& spacing);

}  // namespace larmor
