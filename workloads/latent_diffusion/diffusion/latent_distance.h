// Whether invented latents are copies of training latents, and whether they are as varied: distances between
// them.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/task/metrics.h"

namespace larmor::latent_diffusion {

/// Notes where a case's latent [C, d, h, w] lies: its values or, where there are more than 1024 of them,
/// their means over the smallest equal cubes that leave no more.
void note_place(int64_t example, const at::Tensor& latent, Metrics& metrics);

/// An invented latent and the one of training that is nearest to it.
struct Neighbour {
  int64_t invented = 0, training = 0;  // examples
  double ratio = 0;  // of their distance to the least one between two of training; NaN where two are equal
};

/// The neighbours for each invented latent. `invented` and `training` hold what note_place() noted; nothing
/// where there is no invented latent, or fewer than two others.
std::vector<Neighbour> nearest_in_training(const CaseValues& invented, const CaseValues& training);

/// The figure nearest_training_latent: the least distance of an invented latent to one of training, over the
/// least distance between two of training. 1 is as near as two patients are; near 0 a copy. Nothing where
/// nearest_in_training() gives nothing.
void report_nearest(const CaseValues& invented, const CaseValues& training, Metrics& metrics);

/// The figures latent_precision and latent_recall: the share of invented latents that lie among those of
/// training, and the share of training latents that lie among the invented ones. Among means no further from
/// one of them than its third nearest neighbour there is (the furthest, where they are fewer). One image over
/// and over has no recall. Nothing where either has fewer than two. Source:
/// Kynkäänniemi et al. 2019.
void report_coverage(const CaseValues& invented, const CaseValues& training, Metrics& metrics);

}  // namespace larmor::latent_diffusion
