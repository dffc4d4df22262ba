// PNG, unpacked by codec/png_picture.h.
#pragma once

#include <span>

#include "larmor/formats/stored_array.h"

namespace larmor {

struct Pixels;

bool looks_like_png(std::span<const std::byte> bytes);

/// Grey of 1 to 16 bits gives one channel, colours and palettes three; alpha is dropped, less than 8 bits are
/// spread over 0 to 255, no gamma is applied. uint8 or uint16 as stored. Throws Error (data): damaged, cut
/// short, or larger than its bytes can hold. The path is the caller's to add. `grey`: one channel in any
/// case.
StoredArray parse_png(std::span<const std::byte> bytes, bool grey = false);
/// As parse_png, with the samples of a pixel side by side, alpha among them.
Pixels decode_png(std::span<const std::byte> bytes);

}  // namespace larmor
