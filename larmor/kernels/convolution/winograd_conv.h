// Convolutions with kernels of 3³ voxels by Winograd's minimal filtering F(2³, 3³), whose products of
// matrices are a third of the arithmetic of the sums as they are written (Lavin and Gray, 2016). In float32,
// on CPUs.
#pragma once

#include <array>
#include <tuple>

#include <ATen/core/Tensor.h>

#include "larmor/kernels/convolution/conv3d_form.h"

namespace larmor {

/// Whether winograd_conv() is for these, and faster than oneDNN: volumes in float32 with channels last, a
/// kernel of 3³ in steps of one over zeros one voxel wide, channels in sixteens on both sides, tiles enough
/// in a sample, and a CPU with AVX2 and FMA or with AVX-512. The number of samples makes no difference.
bool is_for_winograd(const Conv3dForm& form, const at::Tensor& input, const at::Tensor& weight);

/// convolved() of volumes_for(), kernel_for() and bias_for(), within the rounding of float32. Differentiable.
/// The same bits on any number of threads, by AVX2 and by AVX-512, for a sample alone and beside others;
/// volumes and kernel are kept for backward, and nothing else. What is no number, or infinite, makes more of
/// the result so than the 3³ voxels around it: all of the tiles that read it.
at::Tensor winograd_conv(const at::Tensor& volumes, const at::Tensor& kernel, const at::Tensor& bias);

/// The gradients of volumes, kernel and bias where they are wanted. They have no gradient themselves.
std::tuple<at::Tensor, at::Tensor, at::Tensor> winograd_conv_gradients(const at::Tensor& gradient,
                                                                       const at::Tensor& volumes,
                                                                       const at::Tensor& kernel,
                                                                       const std::array<bool, 3>& wanted);

}  // namespace larmor
