// An array as it lies in a file: shape, format and bytes that are known to be there. What every reader
// ends with, and what tensors and reports are made from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/formats/bytes.h"
#include "larmor/formats/voxel_format.h"

namespace larmor {

struct StoredArray {
  std::vector<int64_t> shape;
  VoxelFormat format;
  bool first_axis_fastest = true;  // NIfTI and Fortran order; NumPy's own order is the other way
  Bytes file;
  std::size_t offset = 0;  // where the voxels start in it
  std::size_t bytes = 0;   // how long they are

  int64_t count() const;
  std::span<const std::byte> voxels() const { return file.view().subspan(offset, bytes); }
};

/// The most bytes that the voxels of one file may take, as stored and as float32.
constexpr uint64_t largest_voxels = uint64_t{2} << 30;

/// Bytes of an array as stored, in checked arithmetic. Throws Error (data): a size that is not positive, a
/// product that overflows or is over the limit.
std::size_t checked_bytes(std::span<const int64_t> shape, std::size_t bytes_per_voxel);

/// Gives the bytes of a file to an array of that shape and format, whose voxels a header claims to lie there.
/// Adds what lies behind them to the problems; answers with what is wrong, and empty where nothing is: too
/// few bytes, or as many more as another size would take.
std::string attach_bytes(StoredArray& array, Bytes file, uint64_t offset, std::size_t bytes,
                         std::vector<std::string>& problems);

/// float32, shape in file order; strides as the file has them. Takes the bytes over where it can.
at::Tensor to_tensor(StoredArray array);

}  // namespace larmor
