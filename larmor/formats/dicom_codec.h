// Compressed pixels of DICOM files, decoded by DCMTK. It sees nothing of a file but the pieces of pixels and
// the numbers that describe them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "larmor/formats/bytes.h"

namespace larmor {

/// Why a transfer syntax is not read, and what to do; empty when it is.
std::string refusal_of(const std::string& transfer_syntax);
/// Whether pixels are as they are, not compressed (a deflated data set counts as plain once it is unpacked).
bool is_plain_syntax(const std::string& transfer_syntax);

struct EncodedPixels {
  std::string transfer_syntax, photometric;
  int rows = 0, columns = 0, frames = 0, samples = 0;
  int bits_allocated = 0, bits_stored = 0, high_bit = 0;
  bool is_signed = false, by_plane = false;
  std::vector<std::span<const std::byte>> fragments;  // the table of offsets first
};

struct DecodedPixels {
  Bytes bytes;  // little endian, `bits_allocated` a sample
  std::string photometric;
  bool by_plane = false;
};

/// Thread-safe. JPEG, JPEG-LS and RLE. Throws Error (data) with DCMTK's reason.
DecodedPixels decode_pixels(const EncodedPixels& encoded);

}  // namespace larmor
