#include "larmor/formats/voxel_hash.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/hash.h"

namespace larmor {
namespace {

StoredArray array_of(const std::vector<int64_t>& shape, VoxelType type, bool first_axis_fastest) {
  StoredArray array;
  array.shape = shape;
  array.format.type = type;
  array.format.slope = 0.5;
  array.first_axis_fastest = first_axis_fastest;
  array.offset = 3;
  array.bytes = static_cast<std::size_t>(array.count()) * bytes_of(type);
  array.file = Bytes(array.offset + array.bytes);
  uint32_t state = 1;
  for (std::byte& byte : array.file.view()) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<std::byte>(state >> 24 & 0x3f);  // no float is infinite
  }
  return array;
}

/// Index by index: the first axis is the fastest in what is hashed, the last one in the file.
std::string hash_one_by_one(const StoredArray& array) {
  std::vector<float> stored(static_cast<std::size_t>(array.count()));
  decode_voxels(array.voxels(), array.format, std::span(stored));
  std::vector<int64_t> index(array.shape.size(), 0);
  std::vector<float> turned;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    int64_t place = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis) place = place * array.shape[axis] + index[axis];
    turned.push_back(stored[static_cast<std::size_t>(place)]);
    for (std::size_t axis = 0; axis < index.size() && ++index[axis] == array.shape[axis]; ++axis)
      index[axis] = 0;
  }
  Sha256 hash;
  hash.update(std::as_bytes(std::span(turned)));
  return hash.hex();
}

const std::vector<std::vector<int64_t>> shapes = {{1},          {70},         {5, 7},       {70, 130},
                                                  {3, 4, 5},    {70, 3, 130}, {2, 3, 4, 5}, {66, 2, 3, 2, 65},
                                                  {1, 6, 1, 5}, {4, 1, 1}};

TEST(HashOfVoxels, TurnsEveryShapeAndTypeRound) {
  for (const auto& shape : shapes) {
    for (const VoxelType type :
         {VoxelType::uint8, VoxelType::int16, VoxelType::float32, VoxelType::float64}) {
      const StoredArray array = array_of(shape, type, false);
      EXPECT_EQ(hash_of_voxels(array), hash_one_by_one(array))
          << to_text(type) << ' ' << shape.size() << " axes";
    }
  }
}

TEST(HashOfVoxels, DoesNotDependOnHowMuchItMayHold) {
  for (const auto& shape : shapes) {
    const StoredArray array = array_of(shape, VoxelType::int16, false);
    for (const std::size_t held : {0U, 1000U, 50000U})
      EXPECT_EQ(hash_of_voxels(array, held), hash_of_voxels(array))
          << held << ", " << shape.size() << " axes";
  }
}

TEST(HashOfVoxels, TakesTheFirstAxisFirstAsItLies) {
  const StoredArray array = array_of({5, 7, 3}, VoxelType::int16, true);
  std::vector<float> stored(105);
  decode_voxels(array.voxels(), array.format, std::span(stored));
  Sha256 hash;
  hash.update(std::as_bytes(std::span(stored)));
  EXPECT_EQ(hash_of_voxels(array), hash.hex());
}

}  // namespace
}  // namespace larmor
