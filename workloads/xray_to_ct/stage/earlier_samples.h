// What the stage before makes of each case's radiographs, beside the case's own tensors: sampled once, and
// kept.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "larmor/config/run_config.h"
#include "larmor/data/preparable_dataset.h"
#include "larmor/device/draw_position.h"

namespace larmor::xray_to_ct {

/// What is sampled, and by what.
struct EarlierSampling {
  /// radiographs [1, V, rows, columns] to a volume [1, 1, d, h, w] in [-1, 1]; the draws are its caller's.
  using Sample = std::function<at::Tensor(const at::Tensor& radiographs)>;

  std::string hash;  // of the weights and of all else that samples depend on
  int64_t count = 1;
  std::function<Sample()> make;  // called once, when the first sample is not there
};

/// The draws of a case's sample that is kept as number `choice`: they belong to its radiographs
/// [V, 1, rows, columns] without augmentation, whatever split or run asks.
DrawPosition draws_of_kept_sample(const at::Tensor& radiographs, int64_t choice);

/// Samples of `examples`, each with one of its case's `count` volumes of the earlier stage: the first in
/// validation, one drawn for each visit in training. `plain` holds the same cases without augmentation: what
/// is sampled from. Volumes are found again by the radiographs and by the hash: in the prepared cache, or,
/// for invented cases without data.cache, in memory.
std::unique_ptr<PreparableDataset> with_earlier_samples(std::unique_ptr<PreparableDataset> examples,
                                                        std::unique_ptr<PreparableDataset> plain,
                                                        EarlierSampling sampling, const DataConfig& data,
                                                        bool draws_one, bool in_memory);

}  // namespace larmor::xray_to_ct
