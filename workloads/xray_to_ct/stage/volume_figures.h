// How near a volume comes to the true CT, and its radiographs to the measured ones.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor::xray_to_ct {

/// [D, H, W] bool: what lies inside the body of a CT in HU, lungs included: between the outermost voxels
/// above -300 HU of its row along depth and of that along width. Everywhere where no voxel is.
at::Tensor body_of(const at::Tensor& hu);

/// psnr and ssim of volumes [D, H, W] in [-1, 1], on the scale from 0 to 1. SSIM's window is of 11 voxels, or
/// the largest odd number that a smaller volume has.
double volume_psnr(const at::Tensor& volume, const at::Tensor& truth);
double volume_ssim(const at::Tensor& volume, const at::Tensor& truth);
/// Mean over views of the correlation of images [V, rows, columns]; NaN where one has no contrast.
double mean_correlation(const at::Tensor& images, const at::Tensor& others);

}  // namespace larmor::xray_to_ct
