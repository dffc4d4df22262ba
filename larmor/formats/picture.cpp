#include "larmor/formats/picture.h"

#include <cassert>
#include <cstddef>
#include <cstring>
#include <utility>

#include "larmor/formats/jpeg.h"
#include "larmor/formats/png.h"
#include "larmor/formats/stage_clock.h"

namespace larmor {

namespace {

/// One plane a channel: 1 2 3 1 2 3 becomes 1 1 2 2 3 3.
template <class Sample>
void separate(const Pixels& pixels, Bytes& planes) {
  const auto count = static_cast<std::size_t>(pixels.columns * pixels.rows);
  const auto samples = static_cast<std::size_t>(pixels.samples);
  for (std::size_t channel = 0; channel < static_cast<std::size_t>(pixels.channels); ++channel) {
    const std::byte* from = pixels.bytes.data() + channel * sizeof(Sample);
    std::byte* to = planes.data() + channel * count * sizeof(Sample);
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(to + i * sizeof(Sample), from + i * samples * sizeof(Sample), sizeof(Sample));
    }
  }
}

}  // namespace

StoredArray to_array(Pixels pixels) {
  const std::size_t width = bytes_of(pixels.type);
  assert(width <= 2 && pixels.channels <= pixels.samples);
  StoredArray array;
  array.shape = {pixels.columns, pixels.rows};
  if (pixels.channels > 1) array.shape.insert(array.shape.end(), {1, pixels.channels});
  array.format.type = pixels.type;
  array.bytes = checked_bytes(array.shape, width);
  if (pixels.samples == 1) {
    assert(pixels.bytes.size() >= array.bytes);
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

StoredArray parse_picture(std::span<const std::byte> bytes) {
  const StageScope stage(LoadStage::decode);
  return looks_like_jpeg(bytes) ? parse_jpeg(bytes) : parse_png(bytes);
}

StoredArray open_picture(const std::filesystem::path& path) {
  return parse_picture(read_file(path, largest_voxels).view());
}

}  // namespace larmor
