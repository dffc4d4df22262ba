// The dataset of volume workloads: files (or phantoms) of an index's split, through a transform chain.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/cache/make_image.h"
#include "larmor/data/dataset.h"
#include "larmor/data/index/index.h"

namespace larmor {

struct CachePlace {
  std::filesystem::path folder;
  uint64_t budget_bytes = 0, present_bytes = 0;  // what it may hold; what it holds, whoever put it there
};

/// A dataset whose cases can be prepared before a run.
class PreparableDataset : public Dataset {
 public:
  /// size() is cases() times together().
  virtual int64_t cases() const = 0;
  virtual std::string case_name(int64_t number) const = 0;
  /// Puts the case into the prepared cache unless it is there. Gives the bytes that it takes there; 0 when
  /// there was no room. Thread-safe. Throws as get() does.
  virtual uint64_t prepare(int64_t number) const = 0;
  /// Whether it is there, without preparing it; its source files may have to be hashed.
  virtual bool is_prepared(int64_t number) const = 0;
  virtual CachePlace cache_place() const = 0;
};

/// Samples hold "image" [C, D, H, W] float32, D the file's first axis, "label" where a case has one, and each
/// of the case's values as a float64 scalar. An
/// array [2, D, H, W] in a .npz is such a pair: the first is the image, the second the label. Files
/// image_<modality> of a case become the channels of "image", in the order of their names; masks keep their
/// names. All files of a case must lie on one grid (in whatever order of axes), unless data.grids says that
/// they are resampled to the first image's. `transforms` is the chain to apply, to each volume by itself with
/// the same draws: a random crop cuts the same region out of all, intensities are scaled each on their own.
/// RandSpatialCropSamples makes several examples of each case.
/// What the deterministic part gives is kept as data.cache says: nowhere, in the prepared cache, or for the
/// training split in SmartCache's window; the samples are the same. Invented volumes are kept in memory in
/// any case: `make` makes them, phantoms where it is empty. `only` names the volumes that a sample shall
/// hold, when that is not all: other label files are not read.
std::unique_ptr<PreparableDataset> make_volume_dataset(const DataConfig& data, const Index& index,
                                                       Split split, const Json& transforms,
                                                       const std::vector<std::string>& only = {},
                                                       const MakeImage& make = {});

}  // namespace larmor
