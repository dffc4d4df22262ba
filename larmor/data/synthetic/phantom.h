// Invented heads: ellipsoids with texture and noise, any size, a function of the seed alone.
#pragma once

#include <cstdint>
#include <vector>

#include "larmor/formats/volume.h"

namespace larmor {

/// Case `number` of the phantoms with `seed`, as a T1-weighted image would show it: scalp, skull, folded
/// cortex, white matter, ventricles, deep nuclei, cerebellum, a lesion now and then; values from 0 to about
/// 1000. Every case differs in proportions, pose, folds and noise. The field of view is 204 mm along each
/// axis whatever the size, so the head is about 180 mm long and an axis with fewer voxels has thicker
/// slices. Axes point Right, Anterior, Superior. Requires: three sizes above 0.
Volume make_phantom(uint64_t seed, int64_t number, const std::vector<int64_t>& size);  // [1, X, Y, Z]

/// Of such a head.
Affine phantom_affine(const std::vector<int64_t>& size);

}  // namespace larmor
