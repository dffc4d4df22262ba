// How voxels are written in a file: their type, byte order and scaling, and how they become numbers.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace larmor {

enum class VoxelType { uint8, int8, uint16, int16, uint32, int32, uint64, int64, float16, float32, float64 };

std::string to_text(VoxelType type);
std::size_t bytes_of(VoxelType type);

struct VoxelFormat {
  VoxelType type = VoxelType::float32;
  bool big_endian = false;
  double slope = 1, intercept = 0;

  bool is_scaled() const { return slope != 1 || intercept != 0; }
};

/// value * slope + intercept in double, rounded once to the result. Without scaling the value itself is
/// rounded. Requires: bytes.size() == out.size() * bytes_of(format.type).
void decode_voxels(std::span<const std::byte> bytes, const VoxelFormat& format, std::span<float> out);
void decode_voxels(std::span<const std::byte> bytes, const VoxelFormat& format, std::span<double> out);

}  // namespace larmor
