// How a prepared entry lies in its file: a header that is hashed, then the bricks of each tensor, each with a
// hash of its own in the header. All numbers are little-endian.
//
//   0   "LARMORPE"          8 bytes
//   8   version             uint32
//   12  tensors             uint32
//   16  bytes of the header uint64, the hash behind it counted
//   24  bytes of the file   uint64
//   32  the key             64 letters
//   96  for each tensor: offset of its voxels uint64, type uint32, edge of a brick uint32, shape 4 x int64,
//       affine 16 x float64, length of the name uint64, the name filled up to 8 bytes, a hash a brick uint64
//   …   XXH3 of everything before uint64
//   …   voxels of each tensor from a multiple of 64 on, brick after brick; what lies between is zero
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "larmor/formats/affine.h"
#include "larmor/formats/voxel_format.h"
#include "larmor/transforms/sampling.h"

namespace larmor {

constexpr std::string_view cache_magic = "LARMORPE";
constexpr uint32_t cache_format = 1;
constexpr std::size_t cache_key_letters = 64;
constexpr std::size_t cache_prologue = 32 + cache_key_letters;
constexpr std::size_t cache_alignment = 64;
constexpr int64_t cache_brick = 32;  // a crop of 64 voxels an axis reads two or three of them
constexpr uint64_t most_cached_tensors = 256, longest_cached_name = 255;

/// Bricks of `edge` voxels an axis, smaller at the far sides, channel after channel, the last axis fastest
/// among bricks and within one.
struct BrickGrid {
  std::array<int64_t, 4> shape{};  // [C, X, Y, Z]
  int64_t edge = cache_brick;

  int64_t voxels() const { return shape[0] * shape[1] * shape[2] * shape[3]; }
  int64_t along(std::size_t axis) const { return (shape[axis + 1] + edge - 1) / edge; }
  int64_t bricks() const { return shape[0] * along(0) * along(1) * along(2); }
  int64_t number(int64_t channel, const GridSize& brick) const;
  GridSize size_of(const GridSize& brick) const;
  /// Voxels that lie before it.
  int64_t begin_of(int64_t channel, const GridSize& brick) const;
};

/// XXH3.
uint64_t cache_hash(std::span<const std::byte> bytes);

struct CachedTensor {
  std::string name;
  VoxelType type = VoxelType::float32;  // uint8, int16, uint16 or float32
  BrickGrid grid;
  Affine affine = identity_affine();
  uint64_t voxels = 0;  // where they begin in the file
  uint64_t hashes = 0;  // where those of its bricks do
};

}  // namespace larmor
