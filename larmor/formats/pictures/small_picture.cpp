#include "larmor/formats/pictures/small_picture.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

#include <ATen/ops/empty.h>

#include "larmor/base/error.h"
#include "larmor/base/regular_file.h"
#include "larmor/formats/pictures/picture.h"

namespace larmor {
namespace {

constexpr int precision = 32 - 8 - 2;  // bits behind the point; two are left for sums that overshoot

// Which old pixels make a new one, and with which weights.
struct Taps {
  std::vector<int64_t> first, count;
  std::vector<int32_t> weights;
  int64_t most = 0;  // weights that each new pixel has room for

  const int32_t* of(int64_t pixel) const { return weights.data() + pixel * most; }
};

Taps make_taps(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(scale, 1.0);  // the triangle's half
  Taps taps;
  taps.most = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  taps.weights.assign(static_cast<std::size_t>(to * taps.most), 0);
  std::vector<double> shares(static_cast<std::size_t>(taps.most));
  for (int64_t pixel = 0; pixel < to; ++pixel) {
    const double middle = (static_cast<double>(pixel) + 0.5) * scale;
    const auto first = std::max<int64_t>(static_cast<int64_t>(middle - support + 0.5), 0);
    const auto end = std::min(static_cast<int64_t>(middle + support + 0.5), from);
    double sum = 0;
    for (int64_t i = first; i < end; ++i) {
      const double away = std::abs((static_cast<double>(i) - middle + 0.5) / support);
      sum += shares[static_cast<std::size_t>(i - first)] = away < 1 ? 1 - away : 0;
    }
    for (int64_t i = first; i < end; ++i) {
      const double share = shares[static_cast<std::size_t>(i - first)] / (sum == 0 ? 1 : sum);
      taps.weights[static_cast<std::size_t>(pixel * taps.most + i - first)] =
          static_cast<int32_t>(0.5 + share * (1 << precision));
    }
    taps.first.push_back(first);
    taps.count.push_back(end - first);
  }
  return taps;
}

uint8_t rounded(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> precision, 0, 255)); }

void shrink_rows(const uint8_t* from, int64_t old_columns, int64_t rows, const Taps& taps, uint8_t* to) {
  const auto columns = static_cast<int64_t>(taps.first.size());
  for (int64_t row = 0; row < rows; ++row, from += old_columns, to += columns) {
    for (int64_t column = 0; column < columns; ++column) {
      const uint8_t* const pixels = from + taps.first[static_cast<std::size_t>(column)];
      const int32_t* const weights = taps.of(column);
      int32_t sum = 1 << (precision - 1);
      for (int64_t i = 0; i < taps.count[static_cast<std::size_t>(column)]; ++i)
        sum += pixels[i] * weights[i];
      to[column] = rounded(sum);
    }
  }
}

void shrink_columns(const uint8_t* from, int64_t columns, const Taps& taps, uint8_t* to) {
  std::vector<int32_t> sums(static_cast<std::size_t>(columns));
  for (std::size_t row = 0; row < taps.first.size(); ++row, to += columns) {
    std::fill(sums.begin(), sums.end(), 1 << (precision - 1));
    const int32_t* const weights = taps.of(static_cast<int64_t>(row));
    for (int64_t i = 0; i < taps.count[row]; ++i) {
      const uint8_t* const pixels = from + (taps.first[row] + i) * columns;
      const int32_t weight = weights[i];
      for (std::size_t column = 0; column < sums.size(); ++column) sums[column] += pixels[column] * weight;
    }
    for (std::size_t column = 0; column < sums.size(); ++column) to[column] = rounded(sums[column]);
  }
}

// [C, rows, columns]: planes as readers leave them, of 16 bits the upper eight.
at::Tensor planes_of(const StoredArray& array) {
  const int64_t channels = array.shape.size() > 3 ? array.shape[3] : 1;
  at::Tensor planes = at::empty({channels, array.shape[1], array.shape[0]}, at::kByte);
  auto* const to = planes.mutable_data_ptr<uint8_t>();
  const auto voxels = array.voxels();
  if (array.format.type == VoxelType::uint8) {
    std::memcpy(to, voxels.data(), static_cast<std::size_t>(planes.numel()));
    return planes;
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(planes.numel()); ++i) {
    uint16_t value = 0;
    std::memcpy(&value, voxels.data() + 2 * i, sizeof(value));
    to[i] = static_cast<uint8_t>(value >> 8);
  }
  return planes;
}

}  // namespace

at::Tensor resized_as_pillow(const at::Tensor& planes, int64_t columns, int64_t rows) {
  const int64_t channels = planes.size(0), old_rows = planes.size(1), old_columns = planes.size(2);
  const at::Tensor narrow =
      columns == old_columns ? planes.contiguous() : at::empty({channels, old_rows, columns}, at::kByte);
  if (columns != old_columns) {
    shrink_rows(planes.contiguous().const_data_ptr<uint8_t>(), old_columns, channels * old_rows,
                make_taps(old_columns, columns), narrow.mutable_data_ptr<uint8_t>());
  }
  if (rows == old_rows) return narrow;
  at::Tensor small = at::empty({channels, rows, columns}, at::kByte);
  const Taps taps = make_taps(old_rows, rows);
  for (int64_t channel = 0; channel < channels; ++channel) {
    shrink_columns(narrow.const_data_ptr<uint8_t>() + channel * old_rows * columns, columns, taps,
                   small.mutable_data_ptr<uint8_t>() + channel * rows * columns);
  }
  return small;
}

SmallPicture read_small_picture(const std::filesystem::path& path, int64_t columns, int64_t rows) {
  return naming(path, [&] {
    const OpenedPicture opened = open_picture(path);
    return SmallPicture{.pixels = resized_as_pillow(planes_of(opened.array), columns, rows),
                        .columns = opened.size[0],
                        .rows = opened.size[1]};
  });
}

}  // namespace larmor
