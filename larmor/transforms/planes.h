// Planes of a volume, to be looked at.
#pragma once

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/draw/panel.h"
#include "larmor/formats/affine.h"

namespace larmor {

/// rows: [rows, columns] from the top, columns to the right; on any device. Each has a length of one.
PanelPlane panel_plane(const at::Tensor& rows);

/// The sagittal, the coronal and the axial centre plane of volume [X, Y, Z], on any device, as radiologists
/// look at them: anterior on the left of the first, the patient's right on the left of the others, superior
/// and anterior up. `grid` says where the voxels are in the body, whose axes it may have in any order; a
/// plane's sides are in mm. Without it, or where it says nothing (a singular matrix), planes have voxels for
/// a unit, no letters, and names of the axis across which they lie.
std::vector<PanelPlane> centre_planes(const at::Tensor& volume, const std::optional<Affine>& grid);

}  // namespace larmor
