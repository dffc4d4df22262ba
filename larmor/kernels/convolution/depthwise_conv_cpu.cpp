#include "larmor/kernels/convolution/depthwise_conv_cpu.h"

#include <algorithm>
#include <array>
#include <vector>

namespace larmor::depthwise {
namespace {

constexpr int64_t most_lanes = 16, border = taps / 2;

/// Channels that are read together.
struct Block {
  int64_t channel, lanes;
};

/// As many blocks of 16 channels as there are, then one of 8 and one of 4.
Block block_of(const Shape& shape, int64_t which) {
  int64_t channel = which * most_lanes;
  const int64_t whole = shape.channels / most_lanes * most_lanes;
  if (channel < whole) return {channel, most_lanes};
  channel = whole;
  const int64_t left = shape.channels - whole;
  const bool is_second = which > whole / most_lanes;
  if (left < most_lanes / 2) return {channel, left};
  return is_second ? Block{channel + most_lanes / 2, left - most_lanes / 2} : Block{channel, most_lanes / 2};
}

int64_t blocks_of(const Shape& shape) {
  const int64_t left = shape.channels % most_lanes;
  return shape.channels / most_lanes + (left >= most_lanes / 2 ? 1 : 0) +
         (left % (most_lanes / 2) > 0 ? 1 : 0);
}

/// Numbers of neighbouring channels, wherever they lie.
template <int lanes>
struct Neighbours;
template <>
struct Neighbours<16> {
  typedef float Type __attribute__((vector_size(64), aligned(4), may_alias));
};
template <>
struct Neighbours<8> {
  typedef float Type __attribute__((vector_size(32), aligned(4), may_alias));
};
template <>
struct Neighbours<4> {
  typedef float Type __attribute__((vector_size(16), aligned(4), may_alias));
};

/// A row of an image with zeros at both ends, and the gradient of a row: `stride` numbers from pixel to
/// pixel. sums [taps, lanes] grow by what the row gives to each tap.
template <int lanes>
LARMOR_EVERY_CPU void add_row(const float* __restrict padded, const float* __restrict gradient, int64_t width,
                              int64_t stride, double* __restrict sums) {
  using Lanes = typename Neighbours<lanes>::Type;
  Lanes of_tap[taps] = {};
  for (int64_t x = 0; x < width; ++x) {
    const Lanes slope = *reinterpret_cast<const Lanes*>(gradient + x * stride);
    const float* const first = padded + x * lanes;
#pragma GCC unroll 7
    for (int64_t tap = 0; tap < taps; ++tap)
      of_tap[tap] += slope * *reinterpret_cast<const Lanes*>(first + tap * lanes);
  }
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t lane = 0; lane < lanes; ++lane)
      sums[tap * lanes + lane] += static_cast<double>(of_tap[tap][lane]);
}

template <int lanes>
void differentiate_block(const Shape& shape, const float* input, const float* gradient, int64_t channel,
                         int64_t row_of_kernel, float* of_weight) {
  std::array<double, taps * lanes> sums{};
  std::vector<float> padded(static_cast<std::size_t>((shape.width + 2 * border) * lanes));
  const int64_t row_size = shape.width * shape.channels;
  const int64_t first_row = std::max<int64_t>(0, border - row_of_kernel),
                end_row = std::min(shape.height, shape.height + border - row_of_kernel);
  for (int64_t sample = 0; sample < shape.samples; ++sample) {
    for (int64_t y = first_row; y < end_row; ++y) {
      const int64_t row = sample * shape.height + y;
      const float* const from = input + (row + row_of_kernel - border) * row_size + channel;
      for (int64_t x = 0; x < shape.width; ++x)
        std::copy_n(from + x * shape.channels, lanes, padded.data() + (x + border) * lanes);
      add_row<lanes>(padded.data(), gradient + row * row_size + channel, shape.width, shape.channels,
                     sums.data());
    }
  }
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t lane = 0; lane < lanes; ++lane)
      of_weight[((channel + lane) * taps + row_of_kernel) * taps + tap] =
          static_cast<float>(sums[static_cast<std::size_t>(tap * lanes + lane)]);
}

}  // namespace

int64_t tasks_of(const Shape& shape) { return blocks_of(shape) * taps; }

void differentiate_weights(const Shape& shape, const float* input, const float* gradient, int64_t first,
                           int64_t end, float* of_weight) {
  for (int64_t task = first; task < end; ++task) {
    const Block block = block_of(shape, task / taps);
    const auto differentiate = block.lanes == most_lanes       ? differentiate_block<most_lanes>
                               : block.lanes == most_lanes / 2 ? differentiate_block<most_lanes / 2>
                                                               : differentiate_block<fewest_lanes>;
    differentiate(shape, input, gradient, block.channel, task % taps, of_weight);
  }
}

}  // namespace larmor::depthwise
