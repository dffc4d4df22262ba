#include "larmor/transforms/sampling.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "larmor/base/error.h"
#include "larmor/base/load_clock.h"
#include "larmor/transforms/loops/oblique.h"

namespace larmor {

namespace {

struct Place {
  int64_t low = 0;
  float weight = 0;  // of low + 1
};

/// Mirrors about the outer faces of the first and the last voxel.
double reflected(double coordinate, int64_t size) {
  const auto length = static_cast<double>(size);
  const double rest = std::fmod(std::abs(coordinate + 0.5), 2 * length);
  return std::min(rest, 2 * length - rest) - 0.5;
}

/// A coordinate as MONAI's resampler takes it: pulled to the border, then split.
Place place_of(double coordinate, int64_t size, const Sampling& sampling) {
  const bool nearest = sampling.interpolation == Interpolation::nearest;
  if (sampling.outside == Outside::reflection) coordinate = reflected(coordinate, size);
  const double inside = std::clamp(coordinate, 0.0, static_cast<double>(size - 1));
  if (nearest) return {static_cast<int64_t>(std::nearbyint(inside)), 0};
  const double low = std::min(std::floor(inside), static_cast<double>(std::max<int64_t>(size - 2, 0)));
  return {static_cast<int64_t>(low), static_cast<float>(inside - low)};
}

std::vector<Place> places_of(double step, double start, int64_t first, int64_t count, int64_t size,
                             const Sampling& sampling) {
  std::vector<Place> places(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    places[static_cast<std::size_t>(i)] =
        place_of(step * static_cast<double>(first + i) + start, size, sampling);
  }
  return places;
}

float blend(float a, float b, float weight) { return a + weight * (b - a); }

/// One channel, axes in order of memory: `fast` has stride 1 in both grids.
struct Plane {
  const float* source = nullptr;
  std::array<int64_t, 3> size{}, stride{};
  float* target = nullptr;
  std::array<int64_t, 3> target_corner{}, target_size{};
};

/// How far one step along an axis is: nothing when there is only one voxel.
int64_t step_of(const Plane& plane, std::size_t axis) {
  return plane.size[axis] > 1 ? plane.stride[axis] : 0;
}

/// Axis by axis: four source rows become one, which is then read along the fast axis.
void sample_rows(const Plane& plane, const std::array<std::vector<Place>, 3>& places) {
  const auto [first, last] = std::minmax_element(
      places[2].begin(), places[2].end(), [](const Place& a, const Place& b) { return a.low < b.low; });
  const int64_t begin = first->low, length = std::min(last->low + 2, plane.size[2]) - begin;
  std::vector<float> row(static_cast<std::size_t>(length) + 1);
  const int64_t slow_step = step_of(plane, 0), middle_step = step_of(plane, 1);
  float* target = plane.target;
  for (const Place& slow : places[0]) {
    for (const Place& middle : places[1]) {
      const float* const r00 =
          plane.source + slow.low * plane.stride[0] + middle.low * plane.stride[1] + begin;
      const float* const r01 = r00 + middle_step;
      const float* const r10 = r00 + slow_step;
      const float* const r11 = r10 + middle_step;
      const float across = middle.weight, along = slow.weight;
      float* const blended = row.data();
      for (int64_t i = 0; i < length; ++i) {
        blended[i] = blend(blend(r00[i], r01[i], across), blend(r10[i], r11[i], across), along);
      }
      blended[length] = blended[length - 1];  // what a border place without weight reads beside it
      const float* const from = blended - begin;
      for (const Place& fast : places[2]) *target++ = blend(from[fast.low], from[fast.low + 1], fast.weight);
    }
  }
}

/// Whether the places are each other's neighbours: 1 forwards, -1 backwards, 0 neither.
int64_t direction_of(const std::vector<Place>& places) {
  const int64_t step = places.size() > 1 ? places[1].low - places[0].low : 1;
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].low - places[i - 1].low != step) return 0;
  }
  return step == 1 || step == -1 ? step : 0;
}

void pick_rows(const Plane& plane, const std::array<std::vector<Place>, 3>& places) {
  const auto count = static_cast<int64_t>(places[2].size()), first = places[2].front().low;
  const int64_t direction = direction_of(places[2]);
  float* target = plane.target;
  for (const Place& slow : places[0]) {
    for (const Place& middle : places[1]) {
      const float* const row = plane.source + slow.low * plane.stride[0] + middle.low * plane.stride[1];
      if (direction == 1) {
        std::copy(row + first, row + first + count, target);
      } else if (direction == -1) {
        for (int64_t i = 0; i < count; ++i) target[i] = row[first - i];
      } else {
        for (int64_t i = 0; i < count; ++i) target[i] = row[places[2][static_cast<std::size_t>(i)].low];
      }
      target += count;
    }
  }
}

/// The grids are not parallel.
void sample_obliquely(const Plane& plane, const std::array<std::array<double, 4>, 3>& map,
                      const Sampling& sampling) {
  ObliqueRow row{.source = plane.source, .first = plane.target_corner[2], .count = plane.target_size[2]};
  row.target = plane.target;
  const auto index = [&](std::size_t axis, int64_t i) {
    return static_cast<double>(plane.target_corner[axis] + i);
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    row.size[axis] = static_cast<int32_t>(plane.size[axis]);
    row.stride[axis] = static_cast<int32_t>(plane.stride[axis]);
    row.slope[axis] = map[axis][2];
  }
  for (int64_t a = 0; a < plane.target_size[0]; ++a) {
    for (int64_t b = 0; b < plane.target_size[1]; ++b) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        row.start[axis] = map[axis][0] * index(0, a) + map[axis][1] * index(1, b) + map[axis][3];
      }
      sample_row(row, sampling);
      row.target += row.count;
    }
  }
}

/// Whether every source coordinate follows one axis of the new grid, to within a hundred-thousandth of a
/// voxel: headers hold their matrices in float32, so right angles are only nearly right.
bool is_parallel(const Affine& to_source, const GridSize& size) {
  for (int row = 0; row < 3; ++row) {
    double drift = 0;
    for (std::size_t column = 0; column < 3; ++column) {
      if (static_cast<int>(column) != row) {
        drift += std::abs(to_source[row][column]) * static_cast<double>(size[column] - 1);
      }
    }
    if (drift > 1e-5) return false;
  }
  return true;
}

/// Axes in order of memory, the widest stride first. Axes of one voxel have no stride worth the name: they
/// come first, so that the last one is worth a row.
std::array<std::size_t, 3> memory_order(const at::Tensor& voxels) {
  std::array<std::size_t, 3> order{0, 1, 2};
  const auto rank = [&](std::size_t axis) {
    const auto at = static_cast<int64_t>(axis) + 1;
    return voxels.size(at) > 1 ? voxels.stride(at) : std::numeric_limits<int64_t>::max();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) > rank(b); });
  return order;
}

/// The voxels with stride 1 along the last of memory_order, and something behind every voxel there.
at::Tensor with_fast_axis(const at::Tensor& voxels) {
  const auto fast = static_cast<int64_t>(memory_order(voxels)[2]) + 1;
  if (voxels.size(fast) == 1) return at::cat({voxels, voxels}, fast);
  return voxels.stride(fast) == 1 ? voxels : voxels.contiguous();
}

}  // namespace

at::Tensor sample(const at::Tensor& given, const Affine& to_source, const GridPart& part,
                  const Sampling& sampling) {
  const LoadScope stage(LoadStage::resample);
  if (given.numel() / given.size(0) > std::numeric_limits<int32_t>::max())
    fail(Exit::data, "a channel has more than 2³¹ voxels",
         "crop the volume first, or store it more coarsely");
  const at::Tensor voxels = with_fast_axis(given);
  const auto order = memory_order(voxels);
  Plane plane;
  std::array<std::array<double, 4>, 3> map{};
  std::array<std::vector<Place>, 3> places;
  // Rows know no voxels outside.
  const bool in_rows = sampling.outside != Outside::zeros && is_parallel(to_source, part.whole);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t from = order[axis];
    plane.size[axis] = given.size(static_cast<int64_t>(from) + 1);
    plane.stride[axis] = voxels.stride(static_cast<int64_t>(from) + 1);
    plane.target_corner[axis] = part.corner[from];
    plane.target_size[axis] = part.size[from];
    for (std::size_t column = 0; column < 3; ++column) map[axis][column] = to_source[from][order[column]];
    map[axis][3] = to_source[from][3];
    if (!in_rows) continue;
    places[axis] = places_of(map[axis][axis], map[axis][3], part.corner[from], part.size[from],
                             plane.size[axis], sampling);
  }
  const int64_t channels = voxels.size(0);
  at::Tensor result = at::empty({channels, plane.target_size[0], plane.target_size[1], plane.target_size[2]},
                                voxels.options());
  for (int64_t channel = 0; channel < channels; ++channel) {
    plane.source = voxels.const_data_ptr<float>() + channel * voxels.stride(0);
    plane.target = result.mutable_data_ptr<float>() + channel * result.stride(0);
    if (!in_rows) {
      sample_obliquely(plane, map, sampling);
    } else if (sampling.interpolation == Interpolation::nearest) {
      pick_rows(plane, places);
    } else {
      sample_rows(plane, places);
    }
  }
  std::array<int64_t, 4> back{0, 0, 0, 0};
  for (std::size_t axis = 0; axis < 3; ++axis) back[order[axis] + 1] = static_cast<int64_t>(axis) + 1;
  return result.permute(back);
}

}  // namespace larmor
