// JPEG through TurboJPEG.
#pragma once

#include <cstdint>
#include <span>

#include "larmor/formats/stored_array.h"

namespace larmor {

bool looks_like_jpeg(std::span<const std::byte> bytes);

/// Baseline and progressive, 8 bits; grey gives one channel, colour three (RGB). An EXIF orientation is not
/// applied: pixels stay as they are stored. With `smallest_side` above 0 the picture may come out a half, a
/// quarter or an eighth as large, as long as both sides keep that many pixels: what comes before a resize
/// costs less. Throws Error (data): damaged, cut short, CMYK, or larger than its bytes can hold. The path is
/// the caller's to add.
StoredArray parse_jpeg(std::span<const std::byte> bytes, int64_t smallest_side = 0);

}  // namespace larmor
