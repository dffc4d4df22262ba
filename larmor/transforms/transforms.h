// MONAI's transforms by name and parameters, on volumes. The result equals MONAI's for the same drawn
// parameters. Volumes are not changed in place; a result may share memory with its source, and its strides
// may be the file's. Pictures are volumes of one plane, [C, X, Y, 1].
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/formats/volume.h"
#include "larmor/transforms/deferred_voxels.h"
#include "larmor/transforms/example_key.h"
#include "larmor/transforms/extent.h"
#include "larmor/transforms/sampling.h"

namespace larmor {

/// Permutes and flips axes so that they point Right, Anterior, Superior ("RAS") or as `axcodes` says. Throws
/// Error (data) when the affine is singular. MONAI's Orientation.
Volume orient(const Volume& volume, const std::string& axcodes = "RAS");
/// Throws Error (usage) unless `axcodes` is one of L/R, one of P/A and one of I/S in some order.
void check_axcodes(const std::string& axcodes);
/// Where the axes point: "RAS". Throws Error (data) when the affine is singular. nibabel's aff2axcodes.
std::string axcodes_of(const Affine& affine);
/// Resamples to `spacing` mm: the first voxel keeps its place, round((n - 1) old / new) + 1 voxels an
/// axis, border values outside; trilinear or nearest. An axis whose spacing is within 0.001 mm of the wanted
/// one, or whose wanted one is not positive, keeps its own. Shear is taken out. MONAI's Spacing.
Volume resample(const Volume& volume, const std::array<double, 3>& spacing,
                Interpolation interpolation = Interpolation::trilinear);
/// What a crop of `wanted` voxels becomes in a grid of `present`: an axis that is shorter, or of which
/// nothing positive is wanted, is taken whole.
std::vector<int64_t> crop_size(const GridSize& present, const std::vector<int64_t>& wanted);
/// Where the central crop of `size` starts.
std::vector<int64_t> center_corner(const GridSize& present, const std::vector<int64_t>& size);
/// The centre `size` of each axis. MONAI's CenterSpatialCrop.
Volume center_crop(const Volume& volume, const std::vector<int64_t>& size);
/// The crop whose first corner is `corner`, in memory of its own. Requires: it lies inside.
Volume crop_at(const Volume& volume, const std::vector<int64_t>& corner, const std::vector<int64_t>& size);
/// MONAI's ScaleIntensityRangePercentiles, and whose percentiles they are.
struct PercentileScaling {
  double lower = 0, upper = 100;  // percentiles that become b_min and b_max
  double b_min = 0, b_max = 1;
  bool clip = false;
  bool channel_wise = false;  // each channel by percentiles of its own
  bool nonzero = false;       // percentiles of the voxels that are not 0, such as a stripped skull's are
};
/// (x - p_lower) / (p_upper - p_lower) scaled to [b_min, b_max], percentiles with linear interpolation; clips
/// when told to. Equal percentiles: x - p_lower + b_min. Where no voxel counts, all stay as they are. Throws
/// Error (data) when there are NaN voxels.
Volume scale_percentiles(const Volume& volume, const PercentileScaling& scaling);
/// The percentile (0 to 100) of all values, as numpy.percentile gives it. NaN when one of them is NaN.
double percentile(const at::Tensor& values, double rank);

/// The volumes of one example by name: "image", "label", "mask".
using Volumes = std::map<std::string, Volume, std::less<>>;
/// Masks ("mask", "mask_<name>") hold classes: they are sampled by the nearest voxel, and intensities leave
/// them alone.
bool is_mask(std::string_view name);

/// The names of all transforms.
std::vector<std::string> transform_names();

/// A chain declared in the config: [{Orientation: {axcodes: RAS}}, {Spacing: {pixdim: [2, 2, 2]}}, …]; all
/// names and parameters: docs/data.md. Names may end in d, as MONAI's for dictionaries do, and `keys` says
/// which volumes a step is for (all of them by default). What is drawn is drawn once for all of them. Spatial
/// steps that follow each other are one interpolation, unless one says `lazy: false`.
class TransformChain {
 public:
  /// Throws Error (usage) naming the transform or the parameter that is wrong, and the nearest name.
  explicit TransformChain(const Json& declaration);
  /// Everything before the first random step: the same for an example in every epoch. Thread-safe.
  Volumes deterministic_part(Volumes volumes) const;
  /// The rest, drawn for `key`. Thread-safe.
  Volumes random_part(Volumes volumes, const ExampleKey& key) const;
  /// The same of volumes that can be read in parts: what a random crop drops is never read.
  Volumes random_part(DeferredVolumes volumes, const ExampleKey& key) const;
  /// How many examples one volume gives: num_samples of RandSpatialCropSamples or RandCropByPosNegLabel,
  /// otherwise 1.
  int64_t samples_per_volume() const { return samples_per_volume_; }
  /// Voxels an axis that an image of this extent has behind the chain; 0 along one where that is not known:
  /// what CropForeground leaves goes by voxels, and Spacing needs an affine. A crop takes an axis that is not
  /// known to be long enough. Throws Error as the steps do.
  GridSize size_after(Extent extent) const;
  /// Whether some step draws.
  bool is_random() const;
  /// What was declared of the deterministic part.
  const Json& deterministic_declaration() const { return deterministic_; }
  /// Both, with the same bits and less work: voxels that a random crop drops are never computed.
  Volumes apply(Volumes volumes, const ExampleKey& key) const;
  Volumes apply(DeferredVolumes volumes, const ExampleKey& key) const;
  ~TransformChain();
  TransformChain(TransformChain&&) noexcept;

 private:
  struct Step;
  template <class Sources>
  Volumes run(Sources sources, const ExampleKey& key, std::size_t begin, std::size_t end) const;

  Json deterministic_ = Json::array();
  std::vector<Step> steps_;
  std::size_t first_random_ = 0;
  int64_t samples_per_volume_ = 1;
};

}  // namespace larmor
