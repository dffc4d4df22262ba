// A CT as a file has it, in the cube of the body that radiographs are computed of and volumes are cut out of.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "larmor/formats/volume.h"

#include "workloads/xray_to_ct/data/pair_config.h"

namespace larmor::xray_to_ct {

/// The CT with axes (depth, height, width) as cube_positions() has them, straight along the body's axes: a
/// tilted one is resampled, with air beside it. Throws Error (data) unless it has one channel.
Volume oriented_ct(const Volume& ct);

/// Throws Error (data): values that are no HU, slices too far apart, too little of the body's height, a body
/// that is cut off at a side. `ct` is an oriented one.
void check_ct(const Volume& ct, const PairConfig& config);

/// Moves the world so that the middle of the body is its origin, and drops what lies beyond the cube. The
/// middle: across the body that of all that is denser than fat; along it the middle of the CT, or of the
/// lungs where the CT is longer than the cube. `ct` is an oriented one.
Volume centred_ct(const Volume& ct, double extent);

/// Means over the voxels of a cube of `size` voxels an edge, of values linear between those of `ct` and air
/// beside it: [1, size, size, size]. The same bits whatever the number of threads. `ct` is an oriented one.
Volume in_cube(const Volume& ct, double extent, int64_t size);

}  // namespace larmor::xray_to_ct
