// Whether invented latents have the structure of true ones: spectra of their blocks, compared as the Fréchet
// inception distance compares features of images.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

#include "larmor/task/metrics.h"

namespace larmor::latent_diffusion {

/// Kinds of latents, by what blocks are noted under.
namespace blocks {
constexpr const char *of_truth = "true", *of_invented = "invented", *of_training = "training";
}  // namespace blocks

/// Notes what the blocks of a case's latent [C, d, h, w] look like, four voxels an axis or as many as there
/// are: of each channel the mean, and the root of the mean power in up to three bands of spatial frequency.
/// A remainder at the high side is not looked at.
void note_blocks(const std::string& kind, int64_t example, const at::Tensor& latent, Metrics& metrics);

/// The figures `frechet`, of the invented blocks of `cases` to those of `training`, and `frechet_of_truth`,
/// of the true ones of `cases`: what a sampler that is right comes to. Both between Gaussians of these means
/// and covariances, in standard deviations of training, squared: |m1 - m2|² + tr(S1 + S2 - 2 (S1 S2)^½).
/// Nothing where either has fewer than two blocks. Source: Heusel et al. 2017.
void report_frechet(const CaseValues& cases, const CaseValues& training, Metrics& metrics);

}  // namespace larmor::latent_diffusion
