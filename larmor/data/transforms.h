// MONAI's transforms by name and parameters, on volumes. The result equals MONAI's for the same drawn
// parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/data/dataset.h"
#include "larmor/data/volume.h"

namespace larmor {

/// Permutes and flips axes so that they point Right, Anterior, Superior ("RAS") or as `axcodes` says.
Volume orient(const Volume& volume, const std::string& axcodes = "RAS");
/// Resamples to `spacing` mm: the first voxel keeps its place, round((n - 1) old / new) + 1 voxels an
/// axis, border values outside; trilinear or nearest. MONAI's Spacing.
Volume resample(const Volume& volume, const std::array<double, 3>& spacing, bool nearest = false);
/// Centre `size` of each axis; an axis that is shorter is taken whole. MONAI's CenterSpatialCrop.
Volume center_crop(const Volume& volume, const std::vector<int64_t>& size);
/// The crop whose first corner is `corner`.
Volume crop_at(const Volume& volume, const std::vector<int64_t>& corner, const std::vector<int64_t>& size);
/// (x - p_lower) / (p_upper - p_lower) scaled to [b_min, b_max], percentiles of all voxels with linear
/// interpolation; clips when told to. MONAI's ScaleIntensityRangePercentiles.
Volume scale_percentiles(const Volume& volume, double lower, double upper, double b_min, double b_max, bool clip);

/// A chain declared in the config: [{Orientation: {axcodes: RAS}}, {Spacing: {pixdim: [2, 2, 2]}}, …].
class TransformChain {
 public:
  /// Throws Error (usage) naming the transform or the parameter that is wrong, and the nearest name.
  explicit TransformChain(const Json& declaration);
  /// Everything before the first random step: the same for an example in every epoch.
  Volume deterministic_part(Volume volume) const;
  /// The rest, drawn for `key`.
  Volume random_part(Volume volume, const ExampleKey& key) const;
  Volume apply(Volume volume, const ExampleKey& key) const { return random_part(deterministic_part(std::move(volume)), key); }
  ~TransformChain();
  TransformChain(TransformChain&&) noexcept;

 private:
  struct Step;
  std::vector<Step> steps_;
  std::size_t first_random_ = 0;
};

}  // namespace larmor
