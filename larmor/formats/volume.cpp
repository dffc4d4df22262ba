#include "larmor/formats/volume.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/pictures/picture_reading.h"
#include "larmor/formats/stored_volume.h"

namespace larmor {

namespace {

/// Axes of one behind the third say nothing; one that is left is the channel.
int64_t channels_of(const std::vector<int64_t>& shape) {
  int64_t channels = 1;
  for (std::size_t axis = 3; axis < shape.size(); ++axis) {
    if (shape[axis] == 1) continue;
    if (channels != 1) fail(Exit::data, "has more than one axis of channels behind the three of space");
    channels = shape[axis];
  }
  return channels;
}

void check_axes(const StoredVolume& volume) {
  if (volume.array.shape.size() < 2 || volume.array.shape.size() > 4) {
    fail(Exit::data, text("is an array of ", volume.array.shape.size(),
                          " dimensions; 2, 3, or 4 with the channel first, are a volume"));
  }
}

at::Tensor channels_first(const at::Tensor& voxels, const std::vector<int64_t>& shape) {
  const int64_t channels = channels_of(shape);
  at::Tensor result = voxels;
  for (int64_t axis = voxels.dim() - 1; axis >= 3; --axis) {
    if (shape[static_cast<std::size_t>(axis)] == 1) result = result.squeeze(axis);
  }
  while (result.dim() < 3) result = result.unsqueeze(-1);
  return channels > 1 ? result.movedim(-1, 0) : result.unsqueeze(0);
}

StoredVolume open_whole(const std::filesystem::path& path, const PictureReading& reading = {}) {
  StoredVolume volume = open_volume(path, reading);
  if (!volume.fault.empty()) fail(Exit::data, volume.fault, volume.hint);
  if (volume.is_bare_array) {
    check_axes(volume);
  } else if (!volume.channel_is_first) {
    channels_of(volume.array.shape);
  }
  return volume;
}

/// Numbers with a point may be none, and a scale may lead whole ones out of float32.
bool may_be_infinite(const VoxelFormat& format) {
  return format.is_scaled() || format.type == VoxelType::float16 || format.type == VoxelType::float32 ||
         format.type == VoxelType::float64;
}

void check_finite(const at::Tensor& voxels) {
  const int64_t count =
      count_not_finite({voxels.const_data_ptr<float>(), static_cast<std::size_t>(voxels.numel())});
  if (count == 0) return;
  fail(Exit::data,
       text("holds ", count, count == 1 ? " voxel that is" : " voxels that are", " NaN or infinite"),
       "replace them in the file, or leave it out with data.exclude");
}

}  // namespace

int64_t count_not_finite(std::span<const float> values) {
  constexpr uint32_t exponent = 0x7f800000;  // all ones: infinite, or no number
  unsigned found = 0;                        // no early way out, so that many are looked at together
  for (const float value : values) found |= (std::bit_cast<uint32_t>(value) & exponent) == exponent ? 1U : 0U;
  if (found == 0) return 0;
  return std::ranges::count_if(
      values, [](float value) { return (std::bit_cast<uint32_t>(value) & exponent) == exponent; });
}

Volume read_volume(const std::filesystem::path& path) { return read_volume(path, PictureReading{}); }

Volume read_volume(const std::filesystem::path& path, const PictureReading& reading) {
  return naming(path, [&]() -> Volume {
    StoredVolume volume = open_whole(path, reading);
    const std::vector<int64_t> shape = volume.array.shape;
    const bool suspicious = may_be_infinite(volume.array.format);
    const at::Tensor voxels = to_tensor(std::move(volume.array));
    if (suspicious) check_finite(voxels);
    if (volume.channel_is_first && voxels.dim() == 4) return {voxels, volume.affine};
    return {channels_first(voxels, shape), volume.affine};
  });
}

void check_volume(const std::filesystem::path& path) {
  naming(path, [&] { open_whole(path); });
}

}  // namespace larmor
