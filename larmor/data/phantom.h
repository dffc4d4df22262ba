// Invented heads: ellipsoids with texture and noise, any size, a function of the seed alone.
#pragma once

#include <cstdint>
#include <vector>

#include "larmor/data/volume.h"

namespace larmor {

/// Case `number` of the phantoms with `seed`: a skull, tissue, ventricles, a lesion now and then; values
/// from 0 to about 1000, spacing so that the head is about 180 mm long. [1, X, Y, Z]
Volume make_phantom(uint64_t seed, int64_t number, const std::vector<int64_t>& size);

}  // namespace larmor
