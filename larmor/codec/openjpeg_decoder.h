// JPEG 2000 (part 1, lossless and lossy), decoded by OpenJPEG in this process. Its warnings are errors, and
// so is a codestream without its end: behind each of them are pixels that are in no file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "larmor/codec/encoded_pixels.h"

namespace larmor {

/// Whether it is one of the syntaxes decoded here.
bool is_decoded_by_openjpeg(const std::string& transfer_syntax);

/// Thread-safe. All frames into `out`. Requires: `out` has decoded_bytes(encoded). Throws Error (data) with
/// OpenJPEG's reason; std::bad_alloc.
DecodedForm decode_by_openjpeg(const EncodedPixels& encoded, std::span<std::byte> out);

}  // namespace larmor
