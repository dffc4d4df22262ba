// Changing sizes by averaging: what PyTorch calls adaptive average pooling, and MONAI "area".
#pragma once

#include <ATen/core/Tensor.h>

#include "larmor/transforms/sampling.h"

namespace larmor {

/// voxels [C, X, Y, Z] float32 to [C, size…]: new voxel i of n is the mean of the old ones from
/// floor(i · old / n) to ceil((i + 1) · old / n). Keeps the order of axes in memory.
at::Tensor average(const at::Tensor& voxels, const GridSize& size);

}  // namespace larmor
