#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

#include "larmor/base/error.h"
#include "larmor/data/transforms.h"

namespace larmor {

namespace {

using Values = std::span<const float>;

at::Tensor dense(const at::Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() ? tensor : tensor.contiguous();
}

Values values_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

bool has_nan(Values values) {
  bool found = false;
  for (const float value : values) found |= value != value;  // whole rows at once: no early way out
  return found;
}

/// Bits whose unsigned order is the order of the floats.
uint32_t ordered_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return bits & 0x80000000U ? ~bits : bits | 0x80000000U;
}

float from_ordered_bits(uint32_t bits) {
  return std::bit_cast<float>(bits & 0x80000000U ? bits & 0x7fffffffU : ~bits);
}

/// The value that `rank` others come before, by counting digits of eleven, eleven and ten bits: three passes
/// that are read once each, where sorting a part would move a million values about.
float order_statistic(Values values, std::size_t rank) {
  assert(rank < values.size());
  uint32_t prefix = 0, known = 0;  // the leading bits found so far, and where they stand
  for (const auto& [shift, width] : {std::array{21, 11}, std::array{10, 11}, std::array{0, 10}}) {
    const uint32_t mask = (1U << width) - 1;
    std::vector<uint32_t> counts(std::size_t{mask} + 1);
    for (const float value : values) {
      const uint32_t bits = ordered_bits(value);
      if ((bits & known) == prefix) ++counts[bits >> shift & mask];
    }
    uint32_t digit = 0;
    while (rank >= counts[digit]) rank -= counts[digit++];
    prefix |= digit << shift;
    known |= mask << shift;
  }
  return from_ordered_bits(prefix);
}

/// The next larger value in order after `value`, which has `rank` values before it and may occur often.
float following(Values values, float value, std::size_t rank) {
  std::size_t not_above = 0;
  float next = std::numeric_limits<float>::infinity();
  for (const float other : values) {
    not_above += other <= value ? 1 : 0;
    next = other > value && other < next ? other : next;
  }
  return rank + 1 < not_above ? value : next;
}

double percentile_of(Values values, double percent) {
  const double place = percent / 100 * static_cast<double>(values.size() - 1);
  const auto rank = static_cast<std::size_t>(std::floor(place));
  const double weight = place - static_cast<double>(rank);
  if (rank + 1 >= values.size()) return *std::max_element(values.begin(), values.end());
  const float low =
      rank == 0 ? *std::min_element(values.begin(), values.end()) : order_statistic(values, rank);
  if (weight == 0) return low;
  const double a = low, b = following(values, low, rank);
  // From the nearer end, as NumPy does: exact at both.
  return weight < 0.5 ? a + (b - a) * weight : b - (b - a) * (1 - weight);
}

}  // namespace

double percentile(const at::Tensor& tensor, double rank) {
  assert(rank >= 0 && rank <= 100 && tensor.numel() > 0);
  const at::Tensor held = dense(tensor);
  const Values values = values_of(held);
  return has_nan(values) ? std::numeric_limits<double>::quiet_NaN() : percentile_of(values, rank);
}

Volume scale_percentiles(const Volume& volume, double lower, double upper, double b_min, double b_max,
                         bool clip) {
  const at::Tensor held = dense(volume.voxels);
  const Values values = values_of(held);
  if (has_nan(values))
    fail(Exit::data, "there are NaN voxels, so there are no percentiles", "repair or leave out the file");
  // In float32, operation by operation, as MONAI computes it.
  const auto low = static_cast<float>(percentile_of(values, lower));
  const auto high = static_cast<float>(percentile_of(values, upper));
  const float range = high - low;
  const auto target_low = static_cast<float>(b_min), target_high = static_cast<float>(b_max);
  const auto target_range = static_cast<float>(b_max - b_min);
  at::Tensor result = at::empty_like(held);
  float* const scaled = result.mutable_data_ptr<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    scaled[i] =
        range == 0 ? values[i] - low + target_low : (values[i] - low) / range * target_range + target_low;
  }
  if (clip && range != 0) {
    for (std::size_t i = 0; i < values.size(); ++i)
      scaled[i] = std::min(std::max(scaled[i], target_low), target_high);
  }
  return {result, volume.affine};
}

}  // namespace larmor
