// The dataset of volume workloads: files (or phantoms) of an index's split, through a transform chain.
#pragma once

#include <memory>

#include "larmor/config/run_config.h"
#include "larmor/data/dataset.h"
#include "larmor/data/index.h"

namespace larmor {

/// Samples hold "image" [C, D, H, W] float32. `transforms` is the chain to apply. The deterministic part's result is
/// kept in memory when `keep` says so (a small set on a CPU; the deeper cache is its own layer's work).
std::unique_ptr<Dataset> make_volume_dataset(const DataConfig& data, const Index& index, Split split,
                                             const Json& transforms, bool keep);

}  // namespace larmor
