#include "larmor/formats/dicom/dicom_codec.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/codec/decoder_pool.h"
#include "larmor/codec/frame_decoder.h"
#include "larmor/codec/rle.h"

namespace larmor {

namespace {

constexpr std::string_view deflated_frames_syntax = "1.2.840.10008.1.2.8.1";

}  // namespace

bool is_plain_syntax(const std::string& transfer_syntax) {
  constexpr std::array<std::string_view, 4> plain = {"1.2.840.10008.1.2", "1.2.840.10008.1.2.1",
                                                     "1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.2"};
  return std::find(plain.begin(), plain.end(), transfer_syntax) != plain.end();
}

std::string refusal_of(const std::string& transfer_syntax) {
  const std::string_view uid = transfer_syntax;
  if (is_plain_syntax(transfer_syntax) || is_decoded_by_library(transfer_syntax) ||
      uid == rle_lossless_syntax || uid == deflated_frames_syntax)
    return "";
  if (uid.starts_with("1.2.840.10008.1.2.4.9") || uid.starts_with("1.2.840.10008.1.2.4.20")) {
    return "is compressed as a part of JPEG 2000 that is not decoded here: convert it first, for instance "
           "with "
           "gdcmconv --raw IN OUT";
  }
  return "has a transfer syntax (0002,0010) that is not decoded here: convert it to Explicit VR Little "
         "Endian "
         "first, for instance with gdcmconv --raw IN OUT";
}

DecodedPixels decode_pixels(const EncodedPixels& encoded) {
  const bool is_rle = encoded.transfer_syntax == rle_lossless_syntax;
  if (!is_rle && !is_decoded_by_library(encoded.transfer_syntax)) {
    const std::string refusal = refusal_of(encoded.transfer_syntax);
    fail(Exit::data, refusal.empty()
                         ? "contradicts itself: its pixels are not compressed as its transfer syntax "
                           "(0002,0010) says"
                         : refusal);
  }
  DecodedPixels decoded{.bytes = Bytes(decoded_bytes(encoded)), .form = {}};
  const std::span<std::byte> out = decoded.bytes.view();
  decoded.form = is_rle ? unpack_rle(encoded, out) : decode_apart(encoded, out);
  return decoded;
}

EncodedPixels encoded_pixels(const DicomHeader& header, std::vector<std::span<const std::byte>> fragments) {
  return {.transfer_syntax = header.transfer_syntax,
          .photometric = header.photometric,
          .rows = static_cast<int>(header.rows),
          .columns = static_cast<int>(header.columns),
          .frames = static_cast<int>(header.frames),
          .samples = static_cast<int>(header.samples),
          .bits_allocated = header.bits_allocated,
          .bits_stored = header.bits_stored,
          .high_bit = header.high_bit,
          .is_signed = header.is_signed,
          .by_plane = header.by_plane,
          .fragments = std::move(fragments)};
}

}  // namespace larmor
