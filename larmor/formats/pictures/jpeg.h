// JPEG, unpacked by codec/jpeg_picture.h.
#pragma once

#include <span>

#include "larmor/formats/stored_array.h"

namespace larmor {

struct Pixels;

bool looks_like_jpeg(std::span<const std::byte> bytes);

/// Baseline and progressive, 8 bits; grey gives one channel, colour three (RGB). An EXIF orientation is not
/// applied: pixels stay as they are stored. `grey`: one channel in any case, the brightness that JPEG keeps
/// apart from the colours. Throws Error (data): damaged, cut short, CMYK, or larger than its bytes can hold.
/// The path is the caller's to add.
StoredArray parse_jpeg(std::span<const std::byte> bytes, bool grey = false);
/// The same as the decoder leaves it, the colours of a pixel side by side.
Pixels decode_jpeg(std::span<const std::byte> bytes, bool grey = false);

}  // namespace larmor
