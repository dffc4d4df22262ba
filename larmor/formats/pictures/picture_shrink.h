// Loops that make the rows and columns of a picture fewer, with Pillow's weights of 22 bits.
#pragma once

#include <cstdint>
#include <vector>

namespace larmor {

/// Which old pixels make a new one along an axis, and with which weights. Source: Pillow's Resample.c.
struct ShrinkTaps {
  /// Of each new pixel as many weights as the widest needs, rounded up to whole blocks of `lanes`; those
  /// without a pixel are 0. A weight is high << split | low, so that either half is multiplied in 16 bits.
  static constexpr int64_t lanes = 32;
  static constexpr int precision = 22, split = 12;

  /// Requires: both at least 1.
  ShrinkTaps(int64_t from, int64_t to);

  int64_t size() const { return static_cast<int64_t>(starts.size()); }
  /// The weight that an old pixel has in a new one.
  int32_t weight(int64_t pixel, int64_t old_pixel) const;

  int64_t width = 0;     // weights of a new pixel
  int64_t readable = 0;  // bytes that a row has to have: the old pixels, or `width` where those are fewer
  std::vector<int32_t> starts;      // the old pixel of the first weight
  std::vector<int32_t> first, end;  // the old pixels whose weights are not 0
  std::vector<int16_t> low, high;   // [new pixels, width]
};

/// Requires: taps.readable bytes at `row`, taps.size() at `to`.
void shrink_row(const uint8_t* row, const ShrinkTaps& taps, uint8_t* to);
/// From [old rows, columns] to [taps.size(), columns].
void shrink_columns(const uint8_t* from, int64_t columns, const ShrinkTaps& taps, uint8_t* to);

/// The first of the three colours of each pixel, and whether the others are the same everywhere.
bool pick_first_colour(const uint8_t* row, int64_t pixels, uint8_t* to);

}  // namespace larmor
