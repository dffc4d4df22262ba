// Which transfer syntaxes are read, and compressed pixels of a file as samples.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "larmor/codec/encoded_pixels.h"
#include "larmor/formats/bytes.h"
#include "larmor/formats/dicom/dicom_header.h"

namespace larmor {

/// Why a transfer syntax is not read, and what to do; empty when it is.
std::string refusal_of(const std::string& transfer_syntax);
/// Whether pixels are as they are, not compressed (a deflated data set counts as plain once it is unpacked).
bool is_plain_syntax(const std::string& transfer_syntax);

struct DecodedPixels {
  Bytes bytes;  // decoded_bytes(encoded)
  DecodedForm form;
};

/// Thread-safe. RLE in this process, JPEG, JPEG-LS and JPEG 2000 in the decoders of larmor/codec. Throws
/// Error (data): cut short, damaged.
DecodedPixels decode_pixels(const EncodedPixels& encoded);

/// What a file's header says of the frames that are compressed in `fragments`. Borrows their bytes.
EncodedPixels encoded_pixels(const DicomHeader& header, std::vector<std::span<const std::byte>> fragments);

}  // namespace larmor
