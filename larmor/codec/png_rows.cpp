#include "larmor/codec/png_rows.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <libdeflate.h>

namespace larmor {

namespace {

constexpr std::size_t signature_bytes = 8, chunk_frame = 12;  // length, kind and check sum

uint32_t network_word(std::span<const std::byte> bytes, std::size_t at) {
  uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) word = word << 8 | std::to_integer<uint32_t>(bytes[at + i]);
  return word;
}

struct PngChunk {
  std::string_view kind;
  std::span<const std::byte> content;
};

/// The chunk that starts at `at`, if it is whole and its check sum is right.
std::optional<PngChunk> chunk_at(std::span<const std::byte> bytes, std::size_t at) {
  if (bytes.size() - at < chunk_frame) return std::nullopt;
  const std::size_t length = network_word(bytes, at);
  if (length > bytes.size() - at - chunk_frame) return std::nullopt;
  const auto summed = bytes.subspan(at + 4, length + 4);
  if (libdeflate_crc32(0, summed.data(), summed.size()) != network_word(bytes, at + 8 + length))
    return std::nullopt;
  return PngChunk{{reinterpret_cast<const char*>(summed.data()), 4}, summed.subspan(4)};
}

/// Chunks that describe the picture and leave its pixels alone, which may stand anywhere before the end.
bool is_remark(std::string_view kind) {
  constexpr std::array<std::string_view, 8> remarks = {"cHRM", "gAMA", "pHYs", "sRGB",
                                                       "tEXt", "tIME", "zTXt", "eXIf"};
  for (const std::string_view remark : remarks) {
    if (kind == remark) return true;
  }
  return false;
}

struct PackedPixels {
  std::vector<std::span<const std::byte>> parts;
  std::size_t size = 0;
};

std::optional<PackedPixels> find_packed_pixels(std::span<const std::byte> bytes) {
  PackedPixels packed;
  bool is_behind = false;
  for (std::size_t at = signature_bytes; at < bytes.size();) {
    const auto chunk = chunk_at(bytes, at);
    if (!chunk) return std::nullopt;
    const bool is_first = at == signature_bytes;
    if (is_first != (chunk->kind == "IHDR")) return std::nullopt;
    if (chunk->kind == "IEND") {
      if (packed.parts.empty() || !chunk->content.empty()) return std::nullopt;
      return packed;
    }
    if (chunk->kind == "IDAT") {
      if (is_behind) return std::nullopt;  // pixels in two places
      packed.parts.push_back(chunk->content);
      packed.size += chunk->content.size();
    } else if (!is_first && !is_remark(chunk->kind)) {
      return std::nullopt;
    }
    is_behind = !packed.parts.empty() && chunk->kind != "IDAT";
    at += chunk_frame + chunk->content.size();
  }
  return std::nullopt;
}

std::vector<std::byte> joined(const PackedPixels& packed) {
  std::vector<std::byte> all;
  all.reserve(packed.size);
  for (const auto part : packed.parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

struct FreePngInflater {
  void operator()(libdeflate_decompressor* pointer) const { libdeflate_free_decompressor(pointer); }
};

/// Exactly so many bytes with the right check sum, or false.
bool inflate_pixels(const PackedPixels& packed, std::span<std::byte> plain) {
  const std::unique_ptr<libdeflate_decompressor, FreePngInflater> inflater(libdeflate_alloc_decompressor());
  if (!inflater) throw std::bad_alloc();
  const bool is_whole = packed.parts.size() == 1;
  const std::vector<std::byte> copy = is_whole ? std::vector<std::byte>() : joined(packed);
  const auto source = is_whole ? packed.parts.front() : std::span(copy);
  return libdeflate_zlib_decompress(inflater.get(), source.data(), source.size(), plain.data(), plain.size(),
                                    nullptr) == LIBDEFLATE_SUCCESS;
}

uint8_t number_at(const std::byte* bytes, std::size_t at) { return std::to_integer<uint8_t>(bytes[at]); }

void add_above(const std::byte* filtered, const std::byte* above, std::size_t size, std::byte* plain) {
  for (std::size_t i = 0; i < size; ++i)
    plain[i] = static_cast<std::byte>(number_at(filtered, i) + number_at(above, i));
}

/// What a filter foretells of a byte, from the bytes to its left, above it, and above the left one.
struct ForetellLeft {
  static int of(int left, int /*above*/, int /*corner*/) { return left; }
};
struct ForetellAverage {
  static int of(int left, int above, int /*corner*/) { return (left + above) >> 1; }
};
struct ForetellPaeth {
  static int of(int left, int above, int corner) {
    const int to_left = std::abs(above - corner), to_above = std::abs(left - corner);
    const int to_corner = std::abs(left + above - 2 * corner);
    const int vertical = to_above <= to_corner ? above : corner;
    return to_left <= to_above && to_left <= to_corner ? left : vertical;
  }
};

/// Each byte waits for the one to its left, so a pixel is kept in registers.
template <class Foretell, std::size_t pixel_bytes>
void undo_pixel_by_pixel(const std::byte* filtered, const std::byte* above, std::size_t size,
                         std::byte* plain) {
  std::array<int, pixel_bytes> left{}, corner{};
  for (std::size_t at = 0; at < size; at += pixel_bytes) {
    for (std::size_t i = 0; i < pixel_bytes; ++i) {
      const int over = number_at(above, at + i);
      left[i] = (number_at(filtered, at + i) + Foretell::of(left[i], over, corner[i])) & 0xff;
      corner[i] = over;
      plain[at + i] = static_cast<std::byte>(left[i]);
    }
  }
}

template <class Foretell>
void undo_by_pixels(const std::byte* filtered, const std::byte* above, std::size_t size,
                    std::size_t pixel_bytes, std::byte* plain) {
  switch (pixel_bytes) {
    case 1:
      return undo_pixel_by_pixel<Foretell, 1>(filtered, above, size, plain);
    case 2:
      return undo_pixel_by_pixel<Foretell, 2>(filtered, above, size, plain);
    case 3:
      return undo_pixel_by_pixel<Foretell, 3>(filtered, above, size, plain);
    case 4:
      return undo_pixel_by_pixel<Foretell, 4>(filtered, above, size, plain);
    case 6:
      return undo_pixel_by_pixel<Foretell, 6>(filtered, above, size, plain);
    default:
      return undo_pixel_by_pixel<Foretell, 8>(filtered, above, size, plain);
  }
}

}  // namespace

bool undo_png_filter(uint8_t filter, std::span<const std::byte> filtered, std::span<const std::byte> above,
                     std::size_t pixel_bytes, std::span<std::byte> plain) {
  const std::size_t size = plain.size();
  switch (filter) {
    case 0:
      std::memcpy(plain.data(), filtered.data(), size);
      return true;
    case 1:
      undo_by_pixels<ForetellLeft>(filtered.data(), above.data(), size, pixel_bytes, plain.data());
      return true;
    case 2:
      add_above(filtered.data(), above.data(), size, plain.data());
      return true;
    case 3:
      undo_by_pixels<ForetellAverage>(filtered.data(), above.data(), size, pixel_bytes, plain.data());
      return true;
    case 4:
      undo_by_pixels<ForetellPaeth>(filtered.data(), above.data(), size, pixel_bytes, plain.data());
      return true;
    default:
      return false;
  }
}

bool unpack_png_rows(std::span<const std::byte> bytes, const PngRows& rows, std::span<std::byte> pixels) {
  const auto packed = find_packed_pixels(bytes);
  if (!packed) return false;
  const std::size_t size = rows.row_bytes(), all = rows.rows * (size + 1);
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(all);
  const std::span filtered(memory.get(), all);
  if (!inflate_pixels(*packed, filtered)) return false;
  const std::vector<std::byte> nothing_above(size);
  std::span<const std::byte> above = nothing_above;
  for (std::size_t row = 0; row < rows.rows; ++row) {
    const auto line = filtered.subspan(row * (size + 1), size + 1);
    const auto plain = pixels.subspan(row * size, size);
    if (!undo_png_filter(std::to_integer<uint8_t>(line[0]), line.subspan(1), above, rows.pixel_bytes, plain))
      return false;
    above = plain;
  }
  return true;
}

}  // namespace larmor
