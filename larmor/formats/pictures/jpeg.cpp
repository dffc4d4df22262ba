#include "larmor/formats/pictures/jpeg.h"

#include "larmor/formats/pictures/picture.h"

namespace larmor {

bool looks_like_jpeg(std::span<const std::byte> bytes) {
  return bytes.size() >= 3 && bytes[0] == std::byte{0xff} && bytes[1] == std::byte{0xd8} &&
         bytes[2] == std::byte{0xff};
}

Pixels decode_jpeg(std::span<const std::byte> bytes, bool grey) {
  return unpacked_pixels(grey ? Packing::jpeg_in_grey : Packing::jpeg, bytes);
}

StoredArray parse_jpeg(std::span<const std::byte> bytes, bool grey) {
  return to_array(decode_jpeg(bytes, grey));
}

}  // namespace larmor
