#include "larmor/transforms/loops/oblique.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace larmor {

namespace {

/// Voxels that are looked at together. Blocks start at multiples of it, so that a voxel's coordinate does not
/// depend on where a row was begun; within one, float32 is exact to a few millionths of a voxel.
constexpr int block = 64;

using Indices = std::array<int32_t, block>;
using Weights = std::array<float, block>;

/// Where the eight source voxels around each new one start, and what each side of an axis counts for.
struct Places {
  alignas(64) Indices offset;
  alignas(64) std::array<Weights, 3> low, high;
};

/// Coordinates along one source axis, counted from the whole voxel that the block's first one is in.
struct Course {
  float begin = 0, slope = 0;
  int32_t whole = 0;
  float least = 0, most = 0;  // the source's first and last voxel
};

Course course_of(double start, double slope, int64_t first, int32_t size) {
  constexpr double far_away = 1e6;  // where floats still count single voxels
  const double at = std::clamp(start + slope * static_cast<double>(first), -far_away, far_away);
  const double whole = 2 * std::floor(at / 2);  // even, so that halves go to the even voxel
  return {.begin = static_cast<float>(at - whole),
          .slope = static_cast<float>(slope),
          .whole = static_cast<int32_t>(whole),
          .least = static_cast<float>(-whole),
          .most = static_cast<float>(size - 1 - whole)};
}

/// Mirrors about the outer faces of the first and the last voxel.
LARMOR_EVERY_CPU void reflect(const Course& course, Weights& coordinates) {
  const float face = course.least - 0.5F, length = course.most - course.least + 1;
  for (int i = 0; i < block; ++i) {
    const float from_face = std::abs(coordinates[i] - face);
    const float laps = std::floor(from_face / length);
    const float rest = from_face - laps * length;
    const bool is_odd = laps - 2 * std::floor(laps / 2) != 0;
    coordinates[i] = (is_odd ? length - rest : rest) + face;
  }
}

LARMOR_EVERY_CPU void walk(const Course& course, Weights& coordinates) {
  const float begin = course.begin, slope = course.slope;
  for (int i = 0; i < block; ++i) coordinates[i] = begin + slope * static_cast<float>(i);
}

/// Splits coordinates into the lower voxel and the weights of it and the next one.
LARMOR_EVERY_CPU void split_linear(const Course& course, const Weights& coordinates, int32_t stride,
                                   Indices& __restrict offset, Weights& __restrict low,
                                   Weights& __restrict high) {
  // Copies, because a loop over references into two structures is not vectorised.
  const float least = course.least, most = course.most, last_low = std::max(most - 1, least);
  const int32_t from = course.whole;
  for (int i = 0; i < block; ++i) {
    const float given = coordinates[i];
    const float inside = std::min(std::max(given, least), most);
    const float whole = std::floor(inside);
    const float lower = std::min(whole, last_low);
    const float weight = inside - lower;
    high[i] = weight;
    low[i] = 1.0F - weight;
    offset[i] += (static_cast<int32_t>(lower) + from) * stride;
  }
}

LARMOR_EVERY_CPU void split_nearest(const Course& course, const Weights& coordinates, int32_t stride,
                                    Indices& __restrict offset) {
  const float least = course.least, most = course.most;
  const int32_t from = course.whole;
  for (int i = 0; i < block; ++i) {
    const float given = coordinates[i];
    const float inside = std::min(std::max(given, least), most);
    offset[i] += (static_cast<int32_t>(std::nearbyint(inside)) + from) * stride;
  }
}

/// What lies outside counts for nothing: a voxel next to the border keeps the border's share.
LARMOR_EVERY_CPU void fade(const Course& course, const Weights& coordinates, Weights& __restrict low,
                           Weights& __restrict high) {
  const float least = course.least, most = course.most;
  for (int i = 0; i < block; ++i) {
    const float before = least - coordinates[i], behind = coordinates[i] - most;
    const float farther = std::max(before, behind), outside = std::max(farther, 0.0F);
    const float kept = std::max(1.0F - outside, 0.0F);
    low[i] *= kept;
    high[i] *= kept;
  }
}

/// The four lines of two neighbours each around a voxel, blended along the fastest axis. Neighbours are
/// fetched together.
LARMOR_EVERY_CPU void blend_line(const float* source, const Places& places, Weights& __restrict line) {
  alignas(64) std::array<float, 2 * block> pairs;
  for (int i = 0; i < block; ++i) std::memcpy(&pairs[2 * i], source + places.offset[i], 2 * sizeof(float));
  for (int i = 0; i < block; ++i) {
    line[i] = pairs[2 * i] * places.low[2][i] + pairs[2 * i + 1] * places.high[2][i];
  }
}

LARMOR_EVERY_CPU void blend_lines(const std::array<Weights, 4>& lines, const Places& places,
                                  Weights& __restrict blended) {
  for (int i = 0; i < block; ++i) {
    const float near = lines[0][i] * places.low[1][i] + lines[1][i] * places.high[1][i];
    const float far = lines[2][i] * places.low[1][i] + lines[3][i] * places.high[1][i];
    blended[i] = near * places.low[0][i] + far * places.high[0][i];
  }
}

void blend(const ObliqueRow& row, const Places& places, Weights& blended) {
  // An axis of one voxel has no neighbour, and weight 0 for it.
  const int64_t slow = row.size[0] > 1 ? row.stride[0] : 0, middle = row.size[1] > 1 ? row.stride[1] : 0;
  alignas(64) std::array<Weights, 4> lines;
  blend_line(row.source, places, lines[0]);
  blend_line(row.source + middle, places, lines[1]);
  blend_line(row.source + slow, places, lines[2]);
  blend_line(row.source + slow + middle, places, lines[3]);
  blend_lines(lines, places, blended);
}

bool is_outside(const Course& course, float coordinate) {
  return coordinate < course.least - 0.5F || coordinate > course.most + 0.5F;
}

void sample_block(const ObliqueRow& row, int64_t first, const Sampling& sampling, Weights& values) {
  alignas(64) Places places;
  alignas(64) Weights coordinates;
  std::array<bool, block> outside{};
  places.offset.fill(0);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto course = course_of(row.start[axis], row.slope[axis], first, row.size[axis]);
    walk(course, coordinates);
    if (sampling.outside == Outside::reflection) reflect(course, coordinates);
    const bool fades = sampling.outside == Outside::zeros;
    if (sampling.interpolation == Interpolation::trilinear) {
      split_linear(course, coordinates, row.stride[axis], places.offset, places.low[axis], places.high[axis]);
      if (fades) fade(course, coordinates, places.low[axis], places.high[axis]);
    } else {
      split_nearest(course, coordinates, row.stride[axis], places.offset);
      for (int i = 0; fades && i < block; ++i) outside[i] = outside[i] || is_outside(course, coordinates[i]);
    }
  }
  if (sampling.interpolation == Interpolation::trilinear) {
    blend(row, places, values);
  } else {
    for (int i = 0; i < block; ++i) values[i] = outside[i] ? 0 : row.source[places.offset[i]];
  }
}

}  // namespace

void sample_row(const ObliqueRow& row, const Sampling& sampling) {
  alignas(64) Weights values;
  const int64_t end = row.first + row.count;
  for (int64_t start = row.first / block * block; start < end; start += block) {
    sample_block(row, start, sampling, values);
    const int64_t from = std::max(start, row.first), to = std::min(start + block, end);
    std::copy(values.data() + (from - start), values.data() + (to - start), row.target + (from - row.first));
  }
}

}  // namespace larmor
