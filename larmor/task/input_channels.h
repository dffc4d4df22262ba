// Inputs of a prediction that are channels of what training calls image: joined to it, so that the transforms
// do to them what they did there, and taken apart again.
#pragma once

#include <string>
#include <vector>

#include "larmor/transforms/transforms.h"

namespace larmor {

class InputChannels {
 public:
  /// `names`: of inputs, in the order of the image's channels. `resamples`: data.grids=resample.
  InputChannels(std::vector<std::string> names, bool resamples);

  /// Given images by their inputs' names; those that are channels become one "image" on the grid of the first
  /// of them, with zeros for one that is not given, as training reads a case. Throws Error (data) where one
  /// lies on another grid.
  Volumes joined(const Volumes& given) const;
  /// What has become of them, by the names in `given` again.
  Volumes apart(Volumes prepared, const Volumes& given) const;

 private:
  const std::vector<std::string> names_;
  const bool resamples_;
};

}  // namespace larmor
