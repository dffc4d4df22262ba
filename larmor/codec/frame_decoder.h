// Frames that a library of others decodes, by the one that their transfer syntax asks for.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "larmor/codec/encoded_pixels.h"

namespace larmor {

/// Whether decode_frames() knows the syntax: JPEG, JPEG-LS and JPEG 2000.
bool is_decoded_by_library(const std::string& transfer_syntax);

/// Decodes in this process. Thread-safe. All frames into `out`. Requires: `out` has decoded_bytes(encoded).
/// Throws Error (data) with the library's reason; std::bad_alloc.
DecodedForm decode_frames(const EncodedPixels& encoded, std::span<std::byte> out);

}  // namespace larmor
