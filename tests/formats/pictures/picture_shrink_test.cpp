#include "larmor/formats/pictures/picture_shrink.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace larmor {
namespace {

// Pillow's Resample.c for one row, weight by weight.
std::vector<uint8_t> resampled(const std::vector<uint8_t>& row, int64_t size) {
  const auto old_size = static_cast<int64_t>(row.size());
  const double scale = static_cast<double>(old_size) / static_cast<double>(size);
  const double support = std::max(scale, 1.0);
  std::vector<uint8_t> made;
  for (int64_t pixel = 0; pixel < size; ++pixel) {
    const double center = (static_cast<double>(pixel) + 0.5) * scale;
    const auto first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
    const auto end = std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), old_size);
    double total = 0;
    std::vector<double> shares;
    for (int64_t i = first; i < end; ++i) {
      shares.push_back(std::max(0.0, 1 - std::abs((static_cast<double>(i) - center + 0.5) * (1 / support))));
      total += shares.back();
    }
    int64_t sum = 1 << 21;
    for (int64_t i = first; i < end; ++i) {
      const auto weight =
          static_cast<int64_t>(0.5 + shares[static_cast<std::size_t>(i - first)] / total * (1 << 22));
      sum += weight * row[static_cast<std::size_t>(i)];
    }
    made.push_back(static_cast<uint8_t>(std::clamp<int64_t>(sum >> 22, 0, 255)));
  }
  return made;
}

std::vector<uint8_t> noisy_row(std::size_t count) {
  std::vector<uint8_t> values(count);
  uint32_t state = 7;
  for (uint8_t& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<uint8_t>(state >> 24);
  }
  return values;
}

TEST(PictureShrink, WeighsPixelsAsPillowDoesWhateverTheSizes) {
  // From one block of weights to several, to fewer and to more pixels, and rows shorter than a block.
  for (const auto& [from, to] : std::vector<std::pair<int64_t, int64_t>>{{640, 224},
                                                                         {1929, 224},
                                                                         {4096, 16},
                                                                         {30, 7},
                                                                         {33, 32},
                                                                         {5, 3},
                                                                         {1, 1},
                                                                         {7, 50},
                                                                         {3, 224},
                                                                         {20000, 16}}) {
    const ShrinkTaps taps(from, to);
    std::vector<uint8_t> row = noisy_row(static_cast<std::size_t>(from));
    const std::vector<uint8_t> expected = resampled(row, to);
    std::vector<uint8_t> made(static_cast<std::size_t>(to));
    row.resize(static_cast<std::size_t>(taps.readable), 255);  // what lies behind has no weight
    shrink_row(row.data(), taps, made.data());
    EXPECT_EQ(made, expected) << from << " to " << to;
    for (const int32_t start : taps.starts)
      ASSERT_LE(start + taps.width, taps.readable) << "reads no further";
  }
}

TEST(PictureShrink, WeighsTheRowsOfAColumnAsItDoesTheColumnsOfARow) {
  const ShrinkTaps taps(61, 9);
  const std::vector<uint8_t> column = noisy_row(61);
  std::vector<uint8_t> two_columns;
  for (const uint8_t value : column) two_columns.insert(two_columns.end(), {value, 200});
  std::vector<uint8_t> made(18);
  shrink_columns(two_columns.data(), 2, taps, made.data());
  const std::vector<uint8_t> expected = resampled(column, 9);
  for (std::size_t row = 0; row < 9; ++row) {
    EXPECT_EQ(made[2 * row], expected[row]);
    EXPECT_EQ(made[2 * row + 1], 200);
  }
}

TEST(PictureShrink, FindsTheOnePixelThatHasColours) {
  std::vector<uint8_t> grey;
  for (const uint8_t value : noisy_row(75)) grey.insert(grey.end(), {value, value, value});
  std::vector<uint8_t> picked(75);
  EXPECT_TRUE(pick_first_colour(grey.data(), 75, picked.data()));
  EXPECT_EQ(picked, noisy_row(75));
  for (std::size_t sample = 0; sample < grey.size(); ++sample) {
    grey[sample] ^= 1;
    EXPECT_FALSE(pick_first_colour(grey.data(), 75, picked.data())) << sample;
    grey[sample] ^= 1;
  }
}

}  // namespace
}  // namespace larmor
