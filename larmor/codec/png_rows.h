// The usual kind of PNG unpacked over libdeflate: rows without interlacing, whole bytes a sample, no palette.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace larmor {

struct PngRows {
  std::size_t rows = 0;
  std::size_t pixels = 0;       // in a row
  std::size_t pixel_bytes = 0;  // 1 to 8: as far left as a filter looks

  std::size_t row_bytes() const { return pixels * pixel_bytes; }
};

/// Unpacks into `pixels`, as they are stored: 16 bits in the network's order. False when there is anything
/// unusual about the file, be it damage or a chunk that has a say in the pixels: libspng judges those.
/// Requires: bytes start as a PNG file does; `pixels` are rows * row_bytes().
bool unpack_png_rows(std::span<const std::byte> bytes, const PngRows& rows, std::span<std::byte> pixels);

/// Undoes one of the five filters (0 none, 1 left, 2 above, 3 their average, 4 Paeth's choice) of one row.
/// `above` is the plain row before, zeros for the first. False: there is no such filter. Source: PNG
/// specification, §9. Requires: all of equal length, a multiple of `pixel_bytes`; `plain` is none of the
/// others.
bool undo_png_filter(uint8_t filter, std::span<const std::byte> filtered, std::span<const std::byte> above,
                     std::size_t pixel_bytes, std::span<std::byte> plain);

}  // namespace larmor
