#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

#include "larmor/base/error.h"
#include "larmor/transforms/transforms.h"

namespace larmor {

namespace {

using Floats = std::span<const float>;

at::Tensor dense(const at::Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() ? tensor : tensor.contiguous();
}

Floats values_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

bool has_nan(Floats values) {
  unsigned found = 0;  // no early way out, so that many are looked at together
  for (const float value : values) found |= value != value ? 1U : 0U;
  return found != 0;
}

/// Bits whose unsigned order is the order of the floats.
uint32_t ordered_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000U);
}

/// Order statistics of values that are counted once into 4096 bins by their leading bits. What falls into
/// the bin that is asked for is then sorted alone: a fraction of a volume, except when one value fills it.
class CountedValues {
 public:
  explicit CountedValues(Floats values) : values_(values), counts_(bins) {
    // Four tables in turn: the background of a scan would else wait for its own last increment.
    std::vector<uint32_t> tables(4 * bins);
    for (std::size_t i = 0; i < values.size(); ++i) ++tables[(i & 3) * bins + bin_of(values[i])];
    for (std::size_t i = 0; i < tables.size(); ++i) counts_[i % bins] += tables[i];
  }

  double percentile(double percent) const {
    const double place = percent / 100 * static_cast<double>(values_.size() - 1);
    const auto rank = static_cast<std::size_t>(std::floor(place));
    const double weight = place - static_cast<double>(rank);
    if (weight == 0) return statistics(rank, rank).first;
    const auto [a, b] = statistics(rank, rank + 1);
    // From the nearer end, as NumPy does: exact at both.
    return weight < 0.5 ? a + (b - a) * weight : b - (b - a) * (1 - weight);
  }

 private:
  static constexpr std::size_t bins = 4096;
  static uint32_t bin_of(float value) { return ordered_bits(value) >> 20; }

  struct Bin {
    uint32_t number = 0;
    std::size_t before = 0;  // values in lower bins
  };
  Bin bin_with(std::size_t rank) const {
    Bin bin;
    while (bin.before + counts_[bin.number] <= rank) bin.before += counts_[bin.number++];
    return bin;
  }

  /// The values that `first` and `second` others come before.
  std::pair<double, double> statistics(std::size_t first, std::size_t second) const {
    assert(first <= second && second < values_.size());
    const Bin low = bin_with(first), high = bin_with(second);
    std::vector<float> inside;
    inside.reserve(counts_[low.number] + counts_[high.number]);
    for (const float value : values_) {
      const uint32_t bin = bin_of(value);
      if (bin == low.number || bin == high.number) inside.push_back(value);
    }
    const auto nth = [&](std::size_t rank) {
      const auto place = inside.begin() + static_cast<std::ptrdiff_t>(rank - low.before);
      std::nth_element(inside.begin(), place, inside.end());
      return double{*place};
    };
    const double a = nth(first);
    return {a, second == first ? a : nth(second)};
  }

  Floats values_;
  std::vector<std::size_t> counts_;
};

/// In float32, operation by operation, as MONAI computes it.
void scale(Floats values, float low, float high, double b_min, double b_max, float* scaled) {
  const auto target_low = static_cast<float>(b_min), target_range = static_cast<float>(b_max - b_min);
  const float range = high - low;
  if (range == 0) {
    for (std::size_t i = 0; i < values.size(); ++i) scaled[i] = values[i] - low + target_low;
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    scaled[i] = (values[i] - low) / range * target_range + target_low;
}

/// The values that percentiles are of; `others` holds them where they are not all.
Floats counted_values(Floats values, bool nonzero, std::vector<float>& others) {
  if (!nonzero) return values;
  std::copy_if(values.begin(), values.end(), std::back_inserter(others),
               [](float value) { return value != 0; });
  return others;
}

at::Tensor scaled_by_percentiles(const at::Tensor& voxels, const PercentileScaling& scaling) {
  const at::Tensor held = dense(voxels);
  const Floats values = values_of(held);
  if (has_nan(values))
    fail(Exit::data, "there are NaN voxels, so there are no percentiles", "repair or leave out the file");
  std::vector<float> others;
  const Floats counting = counted_values(values, scaling.nonzero, others);
  if (counting.empty()) return held;
  const CountedValues counted(counting);
  const auto low = static_cast<float>(counted.percentile(scaling.lower)),
             high = static_cast<float>(counted.percentile(scaling.upper));
  at::Tensor result = at::empty_like(held);
  float* const scaled = result.mutable_data_ptr<float>();
  scale(values, low, high, scaling.b_min, scaling.b_max, scaled);
  if (scaling.clip && low != high) {
    const auto least = static_cast<float>(scaling.b_min), most = static_cast<float>(scaling.b_max);
    for (std::size_t i = 0; i < values.size(); ++i) scaled[i] = std::min(std::max(scaled[i], least), most);
  }
  return result;
}

}  // namespace

double percentile(const at::Tensor& tensor, double rank) {
  assert(rank >= 0 && rank <= 100 && tensor.numel() > 0);
  const at::Tensor held = dense(tensor);
  const Floats values = values_of(held);
  return has_nan(values) ? std::numeric_limits<double>::quiet_NaN() : CountedValues(values).percentile(rank);
}

Volume scale_percentiles(const Volume& volume, const PercentileScaling& scaling) {
  if (!scaling.channel_wise) return {scaled_by_percentiles(volume.voxels, scaling), volume.affine};
  at::Tensor result = at::empty_like(volume.voxels);
  for (int64_t channel = 0; channel < volume.voxels.size(0); ++channel)
    result[channel].copy_(scaled_by_percentiles(volume.voxels[channel], scaling));
  return {result, volume.affine};
}

}  // namespace larmor
