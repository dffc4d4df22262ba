// Compressed frames of a DICOM file, and what they are decoded to. A decoder sees nothing of a file but the
// pieces of pixels and the numbers that describe them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace larmor {

inline constexpr const char* rle_lossless_syntax = "1.2.840.10008.1.2.5";

struct EncodedPixels {
  std::string transfer_syntax, photometric;
  int rows = 0, columns = 0, frames = 0, samples = 0;
  int bits_allocated = 0, bits_stored = 0, high_bit = 0;
  bool is_signed = false, by_plane = false;
  std::vector<std::span<const std::byte>> fragments;  // the table of offsets first
};

/// How decoded samples lie: whole bytes, little endian, `bits_allocated` a sample, frame after frame.
struct DecodedForm {
  std::string photometric;
  bool by_plane = false;
};

/// The bytes of one frame and of all frames once they are decoded. Throws Error (data) where a sample is no
/// whole bytes. Requires: the sizes are within what a volume may have.
std::size_t decoded_frame_bytes(const EncodedPixels& encoded);
std::size_t decoded_bytes(const EncodedPixels& encoded);

}  // namespace larmor
