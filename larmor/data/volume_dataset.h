// The dataset of volume workloads: files (or phantoms) of an index's split, through a transform chain.
#pragma once

#include <memory>

#include "larmor/config/run_config.h"
#include "larmor/data/index/index.h"
#include "larmor/data/make_volumes.h"
#include "larmor/data/preparable_dataset.h"
#include "larmor/data/sample_form.h"
#include "larmor/data/volume_source.h"

namespace larmor {

/// The files (or invented images) of the split's cases, as `form` says. Samples get each of a case's values
/// as a float64 scalar, and "present" where the form asks for it. `transforms`: the chain that will be
/// applied, whose first steps may say how pictures are read. `make` makes invented volumes, phantoms where it
/// is empty.
std::unique_ptr<VolumeSource> case_volumes(const DataConfig& data, const Index& index, Split split,
                                           const Json& transforms, const SampleForm& form = {},
                                           const MakeVolumes& make = {});

/// Samples hold "image" [C, D, H, W] float32, D the file's first axis, "label" where a case has one, and each
/// of the case's values as a float64 scalar. An
/// array [2, D, H, W] in a .npz is such a pair: the first is the image, the second the label. Files
/// image_<modality> of a case become the channels of "image", in the order that the data declare or `form`
/// says; a case that lacks one is refused, or gets zeros. Masks keep their
/// names. All files of a case must lie on one grid (in whatever order of axes), unless data.grids says that
/// they are resampled to the first image's, or `form` that they have grids of their own. `transforms` is the
/// chain to apply, to each volume by itself with
/// the same draws: a random crop cuts the same region out of all, intensities are scaled each on their own.
/// RandSpatialCropSamples makes several examples of each case.
/// What the deterministic part gives is kept as data.cache says: nowhere, in the prepared cache, or for the
/// training split in SmartCache's window; the samples are the same. Invented volumes are kept in memory in
/// any case: `make` makes them, phantoms where it is empty.
std::unique_ptr<PreparableDataset> make_volume_dataset(const DataConfig& data, const Index& index,
                                                       Split split, const Json& transforms,
                                                       const SampleForm& form = {},
                                                       const MakeVolumes& make = {});

}  // namespace larmor
