#include "larmor/formats/pictures/picture_shrink.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "larmor/base/ensure.h"

namespace larmor {
namespace {

constexpr int32_t half = 1 << (ShrinkTaps::precision - 1);

uint8_t rounded(int32_t sum) {
  return static_cast<uint8_t>(std::clamp(sum >> ShrinkTaps::precision, 0, 255));
}

// Weights are not negative, so neither half of a sum is larger than the sum, which fits 30 bits.
LARMOR_EVERY_CPU void shrink_by_blocks(const uint8_t* row, const int32_t* starts, const int16_t* low,
                                       const int16_t* high, int64_t blocks, int64_t columns, uint8_t* to) {
  for (int64_t column = 0; column < columns; ++column) {
    const uint8_t* pixels = row + starts[column];
    int32_t low_sum = 0, high_sum = 0;
    for (int64_t block = 0; block < blocks; ++block) {
      for (int i = 0; i < ShrinkTaps::lanes; ++i) low_sum += static_cast<int16_t>(pixels[i]) * low[i];
      for (int i = 0; i < ShrinkTaps::lanes; ++i) high_sum += static_cast<int16_t>(pixels[i]) * high[i];
      pixels += ShrinkTaps::lanes;
      low += ShrinkTaps::lanes;
      high += ShrinkTaps::lanes;
    }
    to[column] = rounded(half + low_sum + (high_sum << ShrinkTaps::split));
  }
}

LARMOR_EVERY_CPU void add_weighted(const uint8_t* pixels, int64_t columns, int32_t weight,
                                   int32_t* __restrict sums) {
  for (int64_t column = 0; column < columns; ++column) sums[column] += pixels[column] * weight;
}

LARMOR_EVERY_CPU uint8_t first_colour_and_difference(const uint8_t* row, int64_t pixels,
                                                     uint8_t* __restrict to) {
  uint8_t differs = 0;
  for (int64_t i = 0; i < pixels; ++i) {
    const uint8_t red = row[3 * i], green = row[3 * i + 1], blue = row[3 * i + 2];
    differs = static_cast<uint8_t>(differs | (red ^ green) | (red ^ blue));
    to[i] = red;
  }
  return differs;
}

}  // namespace

ShrinkTaps::ShrinkTaps(int64_t from, int64_t to) {
  ensure(from > 0 && to > 0 && from <= INT32_MAX);
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(scale, 1.0);  // the triangle's half
  const auto most = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  width = (most + lanes - 1) / lanes * lanes;
  readable = std::max(from, width);
  low.assign(static_cast<std::size_t>(to * width), 0);
  high = low;
  std::vector<double> shares(static_cast<std::size_t>(most));
  for (int64_t pixel = 0; pixel < to; ++pixel) {
    const double middle = (static_cast<double>(pixel) + 0.5) * scale;
    const auto begin = std::max<int64_t>(static_cast<int64_t>(middle - support + 0.5), 0);
    const auto behind = std::min(static_cast<int64_t>(middle + support + 0.5), from);
    double sum = 0;
    for (int64_t i = begin; i < behind; ++i) {
      const double away = std::abs((static_cast<double>(i) - middle + 0.5) / support);
      sum += shares[static_cast<std::size_t>(i - begin)] = away < 1 ? 1 - away : 0;
    }
    const int64_t start = std::min(begin, readable - width);
    for (int64_t i = begin; i < behind; ++i) {
      const double share = shares[static_cast<std::size_t>(i - begin)] / (sum == 0 ? 1 : sum);
      const auto weight = static_cast<int32_t>(0.5 + share * (1 << precision));
      const auto place = static_cast<std::size_t>(pixel * width + i - start);
      low[place] = static_cast<int16_t>(weight & ((1 << split) - 1));
      high[place] = static_cast<int16_t>(weight >> split);
    }
    starts.push_back(static_cast<int32_t>(start));
    first.push_back(static_cast<int32_t>(begin));
    end.push_back(static_cast<int32_t>(behind));
  }
}

int32_t ShrinkTaps::weight(int64_t pixel, int64_t old_pixel) const {
  const auto place =
      static_cast<std::size_t>(pixel * width + old_pixel - starts[static_cast<std::size_t>(pixel)]);
  return (high[place] << split) + low[place];
}

void shrink_row(const uint8_t* row, const ShrinkTaps& taps, uint8_t* to) {
  shrink_by_blocks(row, taps.starts.data(), taps.low.data(), taps.high.data(), taps.width / ShrinkTaps::lanes,
                   taps.size(), to);
}

void shrink_columns(const uint8_t* from, int64_t columns, const ShrinkTaps& taps, uint8_t* to) {
  std::vector<int32_t> sums(static_cast<std::size_t>(columns));
  for (int64_t row = 0; row < taps.size(); ++row, to += columns) {
    std::fill(sums.begin(), sums.end(), half);
    const auto place = static_cast<std::size_t>(row);
    for (int64_t old_row = taps.first[place]; old_row < taps.end[place]; ++old_row)
      add_weighted(from + old_row * columns, columns, taps.weight(row, old_row), sums.data());
    for (std::size_t column = 0; column < sums.size(); ++column) to[column] = rounded(sums[column]);
  }
}

bool pick_first_colour(const uint8_t* row, int64_t pixels, uint8_t* to) {
  return first_colour_and_difference(row, pixels, to) == 0;
}

}  // namespace larmor
