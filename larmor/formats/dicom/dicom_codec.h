// Which transfer syntaxes are read, and compressed pixels of a file as samples.
#pragma once

#include <string>

#include "larmor/codec/encoded_pixels.h"
#include "larmor/formats/bytes.h"

namespace larmor {

/// Why a transfer syntax is not read, and what to do; empty when it is.
std::string refusal_of(const std::string& transfer_syntax);
/// Whether pixels are as they are, not compressed (a deflated data set counts as plain once it is unpacked).
bool is_plain_syntax(const std::string& transfer_syntax);

struct DecodedPixels {
  Bytes bytes;  // decoded_bytes(encoded)
  DecodedForm form;
};

/// Thread-safe. RLE in this process, JPEG and JPEG-LS in the decoders of larmor/codec. Throws Error (data):
/// cut short, damaged.
DecodedPixels decode_pixels(const EncodedPixels& encoded);

}  // namespace larmor
