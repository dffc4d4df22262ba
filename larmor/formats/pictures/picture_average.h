// Pictures made smaller by averaging while their pixels are still the bytes of the file: a quarter of the
// memory that numbers with a point would take.
#pragma once

#include <array>
#include <cstdint>

#include "larmor/formats/stored_array.h"

namespace larmor {

/// float32, of `size` columns and rows: new pixel i of n is the mean of the old ones from floor(i · old / n)
/// to ceil((i + 1) · old / n), summed exactly and rounded once. Throws Error (data): a size that is too
/// large, or more than 65537 rows of 16 bits for one. Requires: uint8 or uint16 as to_array gives them.
StoredArray averaged(const StoredArray& planes, const std::array<int64_t, 2>& size);

}  // namespace larmor
