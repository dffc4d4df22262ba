#include "larmor/data/synthetic/smooth_noise.h"

#include <algorithm>
#include <utility>

namespace larmor {
namespace {

struct Taps {
  std::size_t first = 0;
  std::array<float, 4> weights{};
};

// Voxel i of n lies at (i + 1/2) / n of the field.
std::vector<Taps> make_taps(std::size_t cells, std::size_t n) {
  std::vector<Taps> taps(n);
  for (std::size_t i = 0; i < n; ++i) {
    const float place = (static_cast<float>(i) + 0.5F) * static_cast<float>(cells) / static_cast<float>(n);
    const auto cell = std::min(static_cast<std::size_t>(place), cells - 1);
    const float t = place - static_cast<float>(cell);
    const float u = 1 - t;
    taps[i] = {cell,
               {u * u * u / 6, (3 * t * t * t - 6 * t * t + 4) / 6, (3 * u * u * u - 6 * u * u + 4) / 6,
                t * t * t / 6}};
  }
  return taps;
}

// Blows up the middle one of three axes: [outer, points, inner] to [outer, taps, inner].
std::vector<float> enlarge(const std::vector<float>& in, std::size_t outer, std::size_t points,
                           std::size_t inner, const std::vector<Taps>& taps) {
  std::vector<float> out(outer * taps.size() * inner);
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < taps.size(); ++i) {
      const float* row = in.data() + (o * points + taps[i].first) * inner;
      const auto [w0, w1, w2, w3] = taps[i].weights;
      float* result = out.data() + (o * taps.size() + i) * inner;
      for (std::size_t k = 0; k < inner; ++k) {
        result[k] = w0 * row[k] + w1 * row[inner + k] + w2 * row[2 * inner + k] + w3 * row[3 * inner + k];
      }
    }
  }
  return out;
}

}  // namespace

std::vector<float> smooth_noise(Key key, std::size_t cells, const std::array<std::size_t, 3>& size) {
  const std::size_t points = cells + 3;
  std::vector<float> field(points * points * points);
  fill_normal(key, field);
  // A B-spline of independent numbers has this deviation on average: the mean over t of the sum of squared
  // weights is 151/315 an axis.
  constexpr float per_axis = 1.4443381F;
  for (float& value : field) value *= per_axis * per_axis * per_axis;
  field = enlarge(field, points * points, points, 1, make_taps(cells, size[2]));
  field = enlarge(field, points, points, size[2], make_taps(cells, size[1]));
  return enlarge(field, 1, points, size[1] * size[2], make_taps(cells, size[0]));
}

}  // namespace larmor
