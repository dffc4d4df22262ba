// PNG and JPEG files for tests, made by the libraries' own encoders.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace larmor::testing {

/// Colour types of the PNG standard.
enum class PngKind { grey = 0, rgb = 2, palette = 3, grey_alpha = 4, rgb_alpha = 6 };

/// `samples` row by row; one of `bits` 1 to 8 is packed, of 16 written in the order of the network. The
/// palette has entry i as (i, 2 i, 3 i).
std::string png_of(int columns, int rows, PngKind kind, int bits, const std::vector<uint16_t>& samples,
                   bool interlaced = false);

/// `filtered` as a PNG file holds it before it is packed: rows that start with their filter; packed into
/// `pieces` IDAT chunks.
std::string png_of_rows(int columns, int rows, PngKind kind, int bits, const std::string& filtered,
                        int pieces = 1);

/// A PNG file whose chunks say the right check sums again, as far as its lengths can be followed.
std::string with_check_sums(std::string png);

/// Grey with `channels` 1, RGB with 3; pixels of a smooth ramp, so that the loss is small.
std::string jpeg_of(int columns, int rows, int channels, int quality = 95, bool progressive = false);
/// The ramp itself: value of a channel at a place.
int ramp(int column, int row, int channel);

}  // namespace larmor::testing
