// Smooth random fields: what folds, texture and shading of phantoms are made of.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "larmor/base/seed.h"

namespace larmor {

/// Normal numbers on a lattice of `cells` + 3 points an axis, blown up to `size` by cubic B-splines: a field
/// with deviation of about 1 whose bumps are about two cells wide. Last axis fastest.
std::vector<float> smooth_noise(Key key, std::size_t cells, const std::array<std::size_t, 3>& size);

}  // namespace larmor
