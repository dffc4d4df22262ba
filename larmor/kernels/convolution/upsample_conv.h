// Nearest-neighbour upsampling by two and the 3-D convolution behind it, without the volume in between.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor {

/// Each voxel of [N, C, D, H, W] repeated twice along each axis.
at::Tensor doubled(const at::Tensor& input);

/// conv3d(doubled(input), weight, bias) of stride 1 and padding 1: [N, C, D, H, W] and a weight [O, C, 3, 3,
/// 3] give [N, O, 2D, 2H, 2W] in the layout of `input`; `bias` may be undefined. A voxel of the result sees
/// two voxels of `input` along each axis, so that 8 products with sums of the kernel's taps stand for 27: one
/// transposed convolution of stride 2. Backward keeps input and weight, and nothing eight times as large.
/// Differentiable any number of times. Under autocast the taps are added in float32 and cast once.
at::Tensor upsample_conv(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias);

/// Whether upsample_conv() takes the transposed convolution: no axis is shorter than 4 voxels. A shorter
/// image is upsampled and convolved, which is faster there and has the right gradients in bf16 (see
/// conv3d.h). The sample's shape alone decides, never the machine or the number of samples.
bool is_for_small_grid(const at::Tensor& input);

/// The kernel [C, O, 4, 4, 4] of that transposed convolution (stride 2, padding 1): along each axis the taps
/// (w2, w1 + w2, w0 + w1, w0). In float64 of a float64 weight, and added in float32 of all others.
at::Tensor doubling_kernel(const at::Tensor& weight);

}  // namespace larmor
