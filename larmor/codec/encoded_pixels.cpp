#include "larmor/codec/encoded_pixels.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

std::size_t decoded_frame_bytes(const EncodedPixels& encoded) {
  if (encoded.bits_allocated % 8 != 0 || encoded.bits_allocated == 0) {
    fail(Exit::data, text("has compressed samples of ", encoded.bits_allocated, " bits, which are not read"));
  }
  return static_cast<std::size_t>(encoded.rows) * static_cast<std::size_t>(encoded.columns) *
         static_cast<std::size_t>(encoded.samples) * static_cast<std::size_t>(encoded.bits_allocated / 8);
}

std::size_t decoded_bytes(const EncodedPixels& encoded) {
  return decoded_frame_bytes(encoded) * static_cast<std::size_t>(encoded.frames);
}

}  // namespace larmor
