#include "larmor/formats/pictures/small_picture.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/files/regular_file.h"
#include "larmor/base/load_clock.h"
#include "larmor/formats/pictures/picture.h"
#include "larmor/formats/pictures/picture_shrink.h"

namespace larmor {
namespace {

// Of samples of 16 bits the upper eight of those in use.
Pixels in_bytes(Pixels pixels) {
  if (pixels.type == VoxelType::uint8) return pixels;
  ensure(pixels.type == VoxelType::uint16);
  const auto places = static_cast<std::size_t>(pixels.columns * pixels.rows);
  const auto samples = static_cast<std::size_t>(pixels.samples);
  const auto colours = static_cast<std::size_t>(pixels.channels);
  const auto word_at = [&](std::size_t sample) {
    uint16_t word = 0;
    std::memcpy(&word, pixels.bytes.data() + 2 * sample, sizeof(word));
    return word;
  };
  uint16_t brightest = 0;  // alpha says nothing of it
  for (std::size_t place = 0; place < places; ++place) {
    for (std::size_t colour = 0; colour < colours; ++colour)
      brightest = std::max(brightest, word_at(place * samples + colour));
  }
  const int unused = bits_in_use(brightest) - 8;
  Bytes bytes(places * samples);
  for (std::size_t i = 0; i < places * samples; ++i)
    bytes.data()[i] = static_cast<std::byte>(word_at(i) >> unused);
  pixels.bytes = std::move(bytes);
  pixels.type = VoxelType::uint8;
  return pixels;
}

// Makes the columns of row after row fewer.
class NarrowRows {
 public:
  NarrowRows(int64_t old_columns, int64_t columns)
      : old_columns_(old_columns),
        taps_(old_columns, columns),
        row_(static_cast<std::size_t>(taps_.readable)) {}

  // One byte a pixel.
  void take(const uint8_t* row, uint8_t* to) {
    if (taps_.readable <= old_columns_) return shrink(row, to);
    std::copy_n(row, old_columns_, row_.data());
    shrink(row_.data(), to);
  }

  // The first of the samples of each pixel.
  void take(const uint8_t* row, int64_t samples, uint8_t* to) {
    if (samples == 1) return take(row, to);
    for (int64_t i = 0; i < old_columns_; ++i) row_[static_cast<std::size_t>(i)] = row[i * samples];
    shrink(row_.data(), to);
  }

  // The same of a pixel of three colours; whether they are one everywhere.
  bool take_first_colour(const uint8_t* row, uint8_t* to) {
    const bool is_grey = pick_first_colour(row, old_columns_, row_.data());
    shrink(row_.data(), to);
    return is_grey;
  }

 private:
  // Requires: taps_.readable bytes at `row`.
  void shrink(const uint8_t* row, uint8_t* to) const {
    if (taps_.size() == old_columns_) {
      std::copy_n(row, old_columns_, to);
    } else {
      shrink_row(row, taps_, to);
    }
  }

  const int64_t old_columns_;
  const ShrinkTaps taps_;
  std::vector<uint8_t> row_;  // of one sample, with what may be read behind it
};

// [1 or 3, rows, columns] from pixels of one byte a sample: rows become narrower before they become fewer. A
// row without colours is made narrower once.
at::Tensor narrowed(const Pixels& pixels, int64_t columns) {
  const int64_t plane = pixels.rows * columns, samples = pixels.samples;
  at::Tensor narrow = at::empty({pixels.channels, pixels.rows, columns}, at::kByte);
  NarrowRows rows(pixels.columns, columns);
  const auto* from = reinterpret_cast<const uint8_t*>(pixels.bytes.data());
  auto* to = narrow.mutable_data_ptr<uint8_t>();
  bool has_colours = false;
  for (int64_t row = 0; row < pixels.rows; ++row, from += pixels.columns * samples, to += columns) {
    if (pixels.channels == 1) {
      rows.take(from, samples, to);
    } else if (samples == 3 && rows.take_first_colour(from, to)) {
      for (int64_t channel = 1; channel < pixels.channels; ++channel)
        std::copy_n(to, columns, to + channel * plane);
    } else {
      has_colours = true;
      for (int64_t channel = 0; channel < pixels.channels; ++channel)
        rows.take(from + channel, samples, to + channel * plane);
    }
  }
  return has_colours ? narrow : narrow.narrow(0, 0, 1);
}

at::Tensor with_rows(const at::Tensor& narrow, int64_t rows) {
  const int64_t channels = narrow.size(0), old_rows = narrow.size(1), columns = narrow.size(2);
  if (rows == old_rows) return narrow;
  const ShrinkTaps taps(old_rows, rows);
  at::Tensor small = at::empty({channels, rows, columns}, at::kByte);
  for (int64_t channel = 0; channel < channels; ++channel) {
    shrink_columns(narrow.const_data_ptr<uint8_t>() + channel * old_rows * columns, columns, taps,
                   small.mutable_data_ptr<uint8_t>() + channel * rows * columns);
  }
  return small;
}

}  // namespace

int bits_in_use(uint16_t brightest) {
  int bits = 8;
  while (brightest >> bits != 0) bits += 2;
  return bits;
}

at::Tensor resized_as_pillow(const at::Tensor& planes, int64_t columns, int64_t rows) {
  const at::Tensor old = planes.contiguous();
  at::Tensor narrow = at::empty({old.size(0), old.size(1), columns}, at::kByte);
  NarrowRows narrower(old.size(2), columns);
  for (int64_t row = 0; row < old.size(0) * old.size(1); ++row)
    narrower.take(old.const_data_ptr<uint8_t>() + row * old.size(2),
                  narrow.mutable_data_ptr<uint8_t>() + row * columns);
  return with_rows(narrow, rows);
}

SmallPicture read_small_picture(const std::filesystem::path& path, int64_t columns, int64_t rows) {
  return naming(path, [&] {
    const Pixels pixels = in_bytes(decode_picture(read_file(path, largest_voxels).view()));
    const LoadScope resampling(LoadStage::resample);
    return SmallPicture{
        .pixels = with_rows(narrowed(pixels, columns), rows), .columns = pixels.columns, .rows = pixels.rows};
  });
}

}  // namespace larmor
