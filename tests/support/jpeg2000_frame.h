// JPEG 2000 codestreams for tests, made by OpenJPEG's encoder.
#pragma once

#include <string>
#include <vector>

namespace larmor::testing {

/// A frame of `samples` (1 or 3) values a pixel, side by side, of so many bits. Lossless, with the reversible
/// transform of colours where there are three. `has_sign`: the values may be below zero. `tile`: the edge of
/// a tile, 0 for one tile.
std::string jpeg2000_frame(int rows, int columns, int bits, const std::vector<int>& values, int samples = 1,
                           bool has_sign = false, int tile = 0);

}  // namespace larmor::testing
