// The dataset of volume workloads: files (or phantoms) of an index's split, through a transform chain.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "larmor/config/run_config.h"
#include "larmor/data/dataset.h"
#include "larmor/data/index.h"

namespace larmor {

/// Samples hold "image" [C, D, H, W] float32, D the file's first axis, and "label" where a case has one. An
/// array [2, D, H, W] in a .npz is such a pair: the first is the image, the second the label. Files
/// image_<modality> of a case become the channels of "image", in the order of their names; they must lie on
/// one grid. `transforms` is the chain to apply, to each volume by itself with the same draws: a random crop
/// cuts the same region out of both, intensities are scaled each on their own.
/// The deterministic part's result is kept in memory when `keep` says so (a small set on a CPU; the deeper
/// cache is its own layer's work). `only` names what a sample shall hold, when that is not everything: other
/// label files are not read.
std::unique_ptr<Dataset> make_volume_dataset(const DataConfig& data, const Index& index, Split split,
                                             const Json& transforms, bool keep,
                                             const std::vector<std::string>& only = {});

}  // namespace larmor
