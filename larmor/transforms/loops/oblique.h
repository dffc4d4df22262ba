// Rows of a grid that lies askew in another: every voxel has three coordinates of its own.
#pragma once

#include <array>
#include <cstdint>

#include "larmor/transforms/sampling.h"

namespace larmor {

/// A row along the new grid's fastest axis. Axes of the source are in order of memory, the fastest last.
struct ObliqueRow {
  const float* source = nullptr;            // one channel
  std::array<int32_t, 3> size{}, stride{};  // of the source, voxels. The last stride is 1, and one more
                                            // float may be read behind each of its rows
  std::array<double, 3> start{}, slope{};   // source coordinate of voxel i: start + slope * i
  int64_t first = 0, count = 0;             // the voxels that are wanted
  float* target = nullptr;                  // of voxel `first`
};

/// The same bits for a voxel whatever the row's first one, and on every CPU.
void sample_row(const ObliqueRow& row, const Sampling& sampling);

}  // namespace larmor
