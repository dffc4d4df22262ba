// A volume as a picture: the three centre planes side by side.
#pragma once

#include <ATen/core/Tensor.h>

#include "larmor/base/image.h"

namespace larmor {

/// volume [X, Y, Z] in RAS order; values from `low` (black) to `high` (white). Sagittal, coronal and axial
/// centre planes, superior and anterior up.
Image three_planes(const at::Tensor& volume, double low, double high);

}  // namespace larmor
