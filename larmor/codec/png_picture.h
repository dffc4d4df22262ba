// PNG: the usual kind over libdeflate (png_rows.h), every other through libspng.
#pragma once

#include <cstddef>
#include <span>

#include "larmor/codec/unpacking.h"

namespace larmor {

/// Grey of 1 to 16 bits gives one sample, colours and palettes three, alpha one more; less than 8 bits are
/// spread over 0 to 255, no gamma is applied. 8 or 16 bits as stored. `by_library`: all of it through
/// libspng. Throws Error (data): damaged, cut short, or larger than its bytes can hold; std::bad_alloc.
Unpacked unpack_png(std::span<const std::byte> bytes, std::span<std::byte> out, bool by_library = false);

/// The bytes that a header claims, without a look at anything else; 0 where they are no size of a picture.
std::size_t claimed_png_bytes(std::span<const std::byte> bytes);

}  // namespace larmor
