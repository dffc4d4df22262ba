// Turning, resampling and cropping that touch no voxel until they are asked for: only the map of indices is
// composed. A chain that resamples a head and crops a third of it computes that third; a rotation, a zoom and
// a flip in a row are one interpolation.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "larmor/formats/affine.h"
#include "larmor/formats/volume.h"
#include "larmor/transforms/deferred_voxels.h"
#include "larmor/transforms/grids.h"
#include "larmor/transforms/sampling.h"

namespace larmor {

class LazyVolume {
 public:
  explicit LazyVolume(Volume source);
  /// Where the first step is a crop, only the crop is ever read.
  explicit LazyVolume(DeferredVoxels source);

  /// The voxels as they stand now. Cropping before or after this gives the same bits.
  Volume volume() const;
  const GridSize& size() const { return part_.size; }
  int64_t channels() const { return channels_; }
  /// MONAI calls it 2-D: a picture.
  bool is_flat() const { return part_.size[2] == 1; }

  void orient(const std::string& axcodes);
  /// Permutes and flips: exact.
  void turn(const Turn& turn);
  void resample(const std::array<double, 3>& spacing, Interpolation interpolation);
  /// A new grid of `size`; `to_present` takes its indices to those of the present grid. Joined to what is
  /// pending when that samples alike and was not cropped since. Throws Error (data) when the result would be
  /// larger than 2 GiB.
  void map(const GridSize& size, const Affine& to_present, const Sampling& sampling);
  /// Requires: the crop lies inside.
  void crop(const std::vector<int64_t>& corner, const std::vector<int64_t>& size);
  /// Does now what is pending: what comes next sees voxels.
  void settle();
  /// Replaces the voxels by a function of them; a result of another size lies where `to_present` says.
  void change(const std::function<at::Tensor(const at::Tensor&)>& function,
              const Affine& to_present = identity_affine());
  /// Nothing but crops is joined to what was before: settling here changes no bit of the result.
  void fence();

 private:
  void load();

  Volume source_;  // its voxels undefined while they are deferred
  DeferredVoxels deferred_;
  int64_t channels_ = 0;
  GridPart part_;  // of the grid that source_ is sampled on
  Affine to_source_ = identity_affine();
  std::optional<Sampling> pending_;
  bool flipped_ = false;  // to_source_ flips axes; exact unless something is pending
  bool cropped_ = false;
  bool fenced_ = false;
  GridSize fence_corner_{};  // of the part, when the fence was set
};

}  // namespace larmor
