// Two volumes beside each other in a panel, with their difference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/draw/panel.h"
#include "larmor/formats/affine.h"

namespace larmor {

/// A panel without cases, whose images show scaled intensities from `low` to `high`, and whose differences
/// have a scale of their own. Lengths are in mm where there is a grid.
Panel comparing_panel(const std::string& title, double low, double high, const std::optional<Affine>& grid);

struct TitledVolume {
  std::string title;
  at::Tensor voxels;  // [X, Y, Z]
};

/// The images for a case of such a panel: the centre planes of the two, and of |first - second|, titled
/// `difference`.
std::vector<PanelImage> compared_images(const TitledVolume& first, const TitledVolume& second,
                                        const std::string& difference, const std::optional<Affine>& grid);

}  // namespace larmor
