// Turning, resampling and cropping that touch no voxel until they are asked for: only the map of indices is
// composed. A chain that resamples a head and crops a third of it computes that third.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "larmor/data/affine.h"
#include "larmor/data/sampling.h"
#include "larmor/data/volume.h"

namespace larmor {

class LazyVolume {
 public:
  explicit LazyVolume(Volume source);

  /// The voxels as they stand now. Cropping before or after this gives the same bits.
  Volume volume() const;
  const GridSize& size() const { return part_.size; }

  void orient(const std::string& axcodes);
  void resample(const std::array<double, 3>& spacing, bool nearest);
  /// Requires: the crop lies inside.
  void crop(const std::vector<int64_t>& corner, const std::vector<int64_t>& size);

 private:
  enum class Pending { nothing, flip, nearest, trilinear };

  void settle();

  Volume source_;
  GridPart part_;  // of the grid that source_ is sampled on
  Affine to_source_ = identity_affine();
  Pending pending_ = Pending::nothing;
  bool cropped_ = false;
};

}  // namespace larmor
