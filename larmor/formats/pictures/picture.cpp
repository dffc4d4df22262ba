#include "larmor/formats/pictures/picture.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "larmor/base/ensure.h"
#include "larmor/base/error.h"
#include "larmor/base/load_clock.h"
#include "larmor/codec/decoder_pool.h"
#include "larmor/formats/pictures/jpeg.h"
#include "larmor/formats/pictures/picture_average.h"
#include "larmor/formats/pictures/png.h"

namespace larmor {

namespace {

/// So many pixels are worked on before those behind them are given back.
constexpr std::size_t piece = std::size_t{1} << 16;

/// One plane a channel: 1 2 3 1 2 3 becomes 1 1 2 2 3 3.
template <class Sample>
void separate(Pixels& pixels, Bytes& planes) {
  const auto count = static_cast<std::size_t>(pixels.columns * pixels.rows);
  const std::size_t step = static_cast<std::size_t>(pixels.samples) * sizeof(Sample);
  for (std::size_t begin = 0; begin < count; begin += piece) {
    const std::size_t end = std::min(count, begin + piece);
    for (std::size_t channel = 0; channel < static_cast<std::size_t>(pixels.channels); ++channel) {
      const std::byte* from = pixels.bytes.data() + channel * sizeof(Sample);
      std::byte* to = planes.data() + channel * count * sizeof(Sample);
      for (std::size_t i = begin; i < end; ++i)
        std::memcpy(to + i * sizeof(Sample), from + i * step, sizeof(Sample));
    }
    pixels.bytes.release_before(end * step);
  }
}

/// In 65536ths; they add up to one.
constexpr uint64_t red_part = 19595, green_part = 38470, blue_part = 7471;

template <class Sample>
void mix(Pixels& colours, Bytes& grey) {
  const auto count = static_cast<std::size_t>(colours.columns * colours.rows);
  const std::size_t step = static_cast<std::size_t>(colours.samples) * sizeof(Sample);
  for (std::size_t begin = 0; begin < count; begin += piece) {
    const std::size_t end = std::min(count, begin + piece);
    for (std::size_t i = begin; i < end; ++i) {
      std::array<Sample, 3> colour{};
      std::memcpy(colour.data(), colours.bytes.data() + i * step, sizeof(colour));
      const uint64_t sum = red_part * colour[0] + green_part * colour[1] + blue_part * colour[2];
      const auto mixed = static_cast<Sample>((sum + 0x8000) >> 16);
      std::memcpy(grey.data() + i * sizeof(Sample), &mixed, sizeof(Sample));
    }
    colours.bytes.release_before(end * step);
  }
}

}  // namespace

Pixels unpacked_pixels(Packing packing, std::span<const std::byte> bytes) {
  const LoadScope stage(LoadStage::decompress);
  Pixels pixels{.bytes = Bytes(claimed_bytes(packing, bytes))};
  Unpacked unpacked = unpack_apart(packing, bytes, pixels.bytes.view());
  const std::array<int64_t, 3> shape = {unpacked.columns, unpacked.rows, unpacked.samples};
  const std::size_t size = checked_bytes(shape, static_cast<std::size_t>(unpacked.sample_bytes));
  if (unpacked.end == Unpacked::End::full) {
    pixels.bytes = Bytes(size);
    unpacked = unpack_apart(packing, bytes, pixels.bytes.view());
  }
  if (unpacked.end != Unpacked::End::whole || unpacked.given != size)
    fail(Exit::data, "its decoder says two things of its size", "fetch the file again");
  pixels.bytes.shorten(size);
  pixels.columns = unpacked.columns;
  pixels.rows = unpacked.rows;
  pixels.samples = unpacked.samples;
  pixels.channels = unpacked.samples - (unpacked.samples % 2 == 0 ? 1 : 0);
  pixels.type = unpacked.sample_bytes == 2 ? VoxelType::uint16 : VoxelType::uint8;
  return pixels;
}

Pixels to_grey(Pixels pixels) {
  if (pixels.channels != 3) return pixels;
  const std::size_t width = bytes_of(pixels.type);
  Bytes grey(static_cast<std::size_t>(pixels.columns * pixels.rows) * width);
  if (width == 1) {
    mix<uint8_t>(pixels, grey);
  } else {
    mix<uint16_t>(pixels, grey);
  }
  pixels.bytes = std::move(grey);
  pixels.samples = pixels.channels = 1;
  return pixels;
}

StoredArray to_array(Pixels pixels) {
  const std::size_t width = bytes_of(pixels.type);
  ensure(width <= 2 && pixels.channels <= pixels.samples);
  StoredArray array;
  array.shape = {pixels.columns, pixels.rows};
  if (pixels.channels > 1) array.shape.insert(array.shape.end(), {1, pixels.channels});
  array.format.type = pixels.type;
  array.bytes = checked_bytes(array.shape, width);
  if (pixels.samples == 1) {
    ensure(pixels.bytes.size() >= array.bytes);
    array.file = std::move(pixels.bytes);
    return array;
  }
  array.file = Bytes(array.bytes);
  if (width == 1) {
    separate<uint8_t>(pixels, array.file);
  } else {
    separate<uint16_t>(pixels, array.file);
  }
  return array;
}

bool looks_like_picture(std::span<const std::byte> bytes) {
  return looks_like_png(bytes) || looks_like_jpeg(bytes);
}

Pixels decode_picture(std::span<const std::byte> bytes) {
  const LoadScope stage(LoadStage::decode);
  return looks_like_jpeg(bytes) ? decode_jpeg(bytes) : decode_png(bytes);
}

OpenedPicture parse_picture(std::span<const std::byte> bytes, const PictureReading& reading) {
  const LoadScope stage(LoadStage::decode);
  OpenedPicture picture;
  picture.array = looks_like_jpeg(bytes) ? parse_jpeg(bytes, reading.grey) : parse_png(bytes, reading.grey);
  picture.size = {picture.array.shape[0], picture.array.shape[1]};
  if (!reading.averages()) return picture;
  const LoadScope resampling(LoadStage::resample);
  picture.array = averaged(picture.array, reading.size);
  return picture;
}

OpenedPicture open_picture(const std::filesystem::path& path, const PictureReading& reading) {
  return parse_picture(read_file(path, largest_voxels).view(), reading);
}

}  // namespace larmor
