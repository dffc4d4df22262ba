// What needs no network to bring a low-count scan nearer to its high-count one: nothing at all, and a
// Gaussian filter.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "larmor/task/metrics.h"

namespace larmor::latent_diffusion {

/// `image` [C, D, H, W] behind a Gaussian filter of this standard deviation in voxels, in float64. The
/// weights of voxels outside the image go to those inside.
at::Tensor gaussian_filtered(const at::Tensor& image, double voxels);

/// Notes of one case how near `given` comes to `truth`, both [C, D, H, W] with values up to 1, as it is and
/// behind filters of several widths. Nothing where their sizes differ.
void note_filtered(int64_t example, const at::Tensor& given, const at::Tensor& truth, Metrics& metrics);

/// Figures of what note_filtered() noted of `cases`: `psnr_input`, and `psnr_gaussian` by the filter that
/// suits the `training` cases best, whose width is `gaussian_voxels`. Only what has been noted of both.
void report_filtered(const CaseValues& cases, const CaseValues& training, Metrics& metrics);

}  // namespace larmor::latent_diffusion
