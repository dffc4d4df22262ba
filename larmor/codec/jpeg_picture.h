// JPEG pictures through TurboJPEG.
#pragma once

#include <cstddef>
#include <span>

#include "larmor/codec/unpacking.h"

namespace larmor {

/// Baseline and progressive, 8 bits; grey gives one sample, colour three (RGB). An EXIF orientation is not
/// applied: pixels stay as they are stored. `grey`: one sample in any case. Throws Error (data): damaged, cut
/// short, CMYK, or larger than its bytes can hold; std::bad_alloc.
Unpacked unpack_jpeg(std::span<const std::byte> file, bool grey, std::span<std::byte> out);

}  // namespace larmor
