#include "larmor/formats/pictures/png.h"

#include <array>
#include <cstring>
#include <utility>

#include "larmor/formats/pictures/picture.h"

namespace larmor {

bool looks_like_png(std::span<const std::byte> bytes) {
  constexpr std::array<unsigned char, 8> magic = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

Pixels decode_png(std::span<const std::byte> bytes) { return unpacked_pixels(Packing::png, bytes); }

StoredArray parse_png(std::span<const std::byte> bytes, bool grey) {
  Pixels pixels = decode_png(bytes);
  return to_array(grey ? to_grey(std::move(pixels)) : std::move(pixels));
}

}  // namespace larmor
