// One grid for the files of a case, of which one is the image that the others lie beside.
#pragma once

#include <string>

#include "larmor/formats/volume.h"
#include "larmor/transforms/sampling.h"

namespace larmor {

struct CommonGrid {
  bool resamples = false;  // data.grids=resample
  Interpolation interpolation = Interpolation::trilinear;
};

/// `volume` on the grid of `image`: as it is, or with its axes in another order, or sampled there (border
/// values outside) where `rule` resamples. The names are for messages. Throws Error (data) where it lies
/// elsewhere.
Volume on_grid_of(const Volume& image, const std::string& name_of_image, Volume volume,
                  const std::string& name, const CommonGrid& rule);

}  // namespace larmor
