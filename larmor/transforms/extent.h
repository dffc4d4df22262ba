// Where the voxels of an image lie, without the voxels: what a plan knows before a file is read. Pure
// arithmetic.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "larmor/formats/affine.h"
#include "larmor/transforms/sampling.h"

namespace larmor {

struct Extent {
  GridSize size{};                    // voxels an axis; 0 along one where that is not known
  std::optional<Affine> affine = {};  // none where it is not known
  bool operator==(const Extent&) const = default;
};

/// What Orientation leaves. Throws Error as turn_to().
void orient(Extent& extent, const std::string& axcodes);
/// What Spacing leaves: no axis is known where a size or the affine was not. Throws Error as spaced_grid().
void respace(Extent& extent, const std::array<double, 3>& spacing);
/// What Resize leaves: `wanted` voxels along each axis where that is positive.
void resize(Extent& extent, const GridSize& wanted);
/// What a crop of `wanted` voxels leaves, as crop_size() has it. An axis that is not known is taken to be
/// long enough.
void crop(Extent& extent, const GridSize& wanted);
/// What SpatialPad leaves: an axis that is not known stays so.
void pad(Extent& extent, const GridSize& wanted);

}  // namespace larmor
