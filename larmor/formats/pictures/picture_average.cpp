#include "larmor/formats/pictures/picture_average.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

LARMOR_EVERY_CPU void add_bytes(const uint8_t* row, int64_t count, uint16_t* __restrict sum) {
  for (int64_t i = 0; i < count; ++i) sum[i] = static_cast<uint16_t>(sum[i] + row[i]);
}

LARMOR_EVERY_CPU void add_words(const uint16_t* row, int64_t count, uint32_t* __restrict sum) {
  for (int64_t i = 0; i < count; ++i) sum[i] += row[i];
}

LARMOR_EVERY_CPU void add_sums(const uint16_t* row, int64_t count, uint32_t* __restrict sum) {
  for (int64_t i = 0; i < count; ++i) sum[i] += row[i];
}

/// So many rows of the largest value fit a sum: beyond, they are passed on.
constexpr int64_t byte_rows = 257;

/// Sums of the same column over some rows.
struct ColumnSums {
  explicit ColumnSums(int64_t columns) : sums(static_cast<std::size_t>(columns)), few(sums.size()) {}

  void add(const uint8_t* rows, int64_t count) {
    const auto columns = static_cast<int64_t>(sums.size());
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t begin = 0; begin < count; begin += byte_rows) {
      std::fill(few.begin(), few.end(), uint16_t{0});
      for (int64_t row = begin; row < std::min(begin + byte_rows, count); ++row)
        add_bytes(rows + row * columns, columns, few.data());
      add_sums(few.data(), columns, sums.data());
    }
  }

  /// Requires: at most 65537 rows, which refuse_tall sees to.
  void add(const uint16_t* rows, int64_t count) {
    const auto columns = static_cast<int64_t>(sums.size());
    std::fill(sums.begin(), sums.end(), 0);
    for (int64_t row = 0; row < count; ++row) add_words(rows + row * columns, columns, sums.data());
  }

  std::vector<uint32_t> sums;
  std::vector<uint16_t> few;  // of bytes, not yet passed on
};

struct Window {
  int64_t begin = 0, end = 0;
};

std::vector<Window> windows_of(int64_t old_size, int64_t size) {
  std::vector<Window> windows;
  for (int64_t i = 0; i < size; ++i)
    windows.push_back({i * old_size / size, ((i + 1) * old_size + size - 1) / size});
  return windows;
}

/// A column is summed in 32 bits.
void refuse_tall(const std::vector<Window>& row_windows, std::size_t width) {
  const uint64_t largest_value = width == 1 ? 255 : 65535;
  for (const Window& rows : row_windows) {
    if (static_cast<uint64_t>(rows.end - rows.begin) * largest_value <= UINT32_MAX) continue;
    fail(Exit::data, text("averages ", rows.end - rows.begin, " rows of pixels to one"),
         "choose a larger size for Resize");
  }
}

template <class Sample>
void average_plane(const Sample* pixels, int64_t columns, const std::vector<Window>& row_windows,
                   const std::vector<Window>& column_windows, float* target) {
  ColumnSums of(columns);
  for (const Window& rows : row_windows) {
    of.add(pixels + rows.begin * columns, rows.end - rows.begin);
    for (const Window& window : column_windows) {
      uint64_t sum = 0;
      for (int64_t column = window.begin; column < window.end; ++column)
        sum += of.sums[static_cast<std::size_t>(column)];
      const auto count = static_cast<double>((rows.end - rows.begin) * (window.end - window.begin));
      *target++ = static_cast<float>(static_cast<double>(sum) / count);
    }
  }
}

}  // namespace

StoredArray averaged(const StoredArray& planes, const std::array<int64_t, 2>& size) {
  const std::size_t width = bytes_of(planes.format.type);
  ensure(width <= 2 && planes.first_axis_fastest && planes.offset == 0);
  const int64_t columns = planes.shape[0], rows = planes.shape[1];
  StoredArray result;
  result.shape = planes.shape;
  result.shape[0] = size[0];
  result.shape[1] = size[1];
  result.format = {VoxelType::float32, std::endian::native == std::endian::big, 1, 0};
  result.bytes = checked_bytes(result.shape, sizeof(float));
  result.file = Bytes(result.bytes);
  const auto row_windows = windows_of(rows, size[1]), column_windows = windows_of(columns, size[0]);
  refuse_tall(row_windows, width);
  std::vector<float> plane(static_cast<std::size_t>(size[0] * size[1]));
  const std::size_t plane_bytes = plane.size() * sizeof(float);
  for (std::size_t channel = 0; channel * plane_bytes < result.bytes; ++channel) {
    const std::byte* const from =
        planes.file.data() + channel * static_cast<std::size_t>(columns * rows) * width;
    if (width == 1) {
      average_plane(reinterpret_cast<const uint8_t*>(from), columns, row_windows, column_windows,
                    plane.data());
    } else {
      average_plane(reinterpret_cast<const uint16_t*>(from), columns, row_windows, column_windows,
                    plane.data());
    }
    std::memcpy(result.file.data() + channel * plane_bytes, plane.data(), plane_bytes);
  }
  return result;
}

}  // namespace larmor
