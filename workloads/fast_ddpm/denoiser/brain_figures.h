// How near a generated modality comes to the true one.
#pragma once

#include <array>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>

namespace larmor::fast_ddpm {

/// What the transforms leave outside the head.
constexpr double background = -1;

/// [D, H, W] bool: where any channel of image [C, D, H, W] is above the background. Everywhere where nothing
/// is.
at::Tensor brain_of(const at::Tensor& image);

/// [N, 1, D, H, W] bool: where the channels of image [N, C, D, H, W] that are not the target, of which
/// is_target [N, C] is true, show background. Zeros of a missing modality say nothing.
at::Tensor background_beside(const at::Tensor& image, const at::Tensor& is_target);

/// The figures, by name, of one case and one target.
using BrainFigures = std::array<std::pair<const char*, double>, 6>;
/// psnr and ssim of the whole volume, mae_brain and psnr_brain inside the brain, and, as the paper has them,
/// psnr_slices and ssim_slices: means over those slices across the last axis that show brain, of SSIM in
/// windows of 7 x 7 of even weight. All on the scale from 0 to 1 that [-1, 1] becomes. Volumes are [D, H, W].
/// Throws Error (data) where an axis is too short for SSIM.
BrainFigures brain_figures(const at::Tensor& generated, const at::Tensor& truth, const at::Tensor& brain);

/// psnr_brain alone.
double psnr_inside(const at::Tensor& generated, const at::Tensor& truth, const at::Tensor& brain);

}  // namespace larmor::fast_ddpm
