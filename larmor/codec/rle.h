// RLE Lossless, unpacked by hand: PackBits over planes of bytes, where a segment that ends early is damage.
// docs/decisions/0023 says why. Source: DICOM PS3.5 annex G.
#pragma once

#include <cstddef>
#include <span>

#include "larmor/codec/encoded_pixels.h"

namespace larmor {

/// All frames into `out`, by pixel. Each segment has to give exactly rows * columns bytes; behind them only
/// padding may follow. Requires: `out` has decoded_bytes(encoded). Throws Error (data).
DecodedForm unpack_rle(const EncodedPixels& encoded, std::span<std::byte> out);

}  // namespace larmor
