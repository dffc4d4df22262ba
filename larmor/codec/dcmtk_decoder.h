// JPEG (8 and 12 bits, lossless) and JPEG-LS, decoded by DCMTK in this process. Its warnings are errors:
// behind each of them are pixels that are in no file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "larmor/codec/encoded_pixels.h"

namespace larmor {

/// Whether it is one of the syntaxes decoded here.
bool is_decoded_by_dcmtk(const std::string& transfer_syntax);

/// Thread-safe. All frames into `out`, which is set to zero first. Requires: `out` has
/// decoded_bytes(encoded). Throws Error (data) with DCMTK's reason; std::bad_alloc.
DecodedForm decode_by_dcmtk(const EncodedPixels& encoded, std::span<std::byte> out);

}  // namespace larmor
