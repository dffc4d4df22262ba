// A convolution of one channel with the taps of its rows as channels: what units for products of matrices can
// take.
#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "larmor/kernels/convolution/conv3d_form.h"

namespace larmor {

/// Whether conv3d() goes by taps_conv(): one channel, rows of a kernel of 5 to 8 taps, 16 bits and channels
/// last, on a GPU. cuDNN has no kernel of tensor cores for one channel: the stem of a ResNet (7 x 7 x 7)
/// takes a third of a step.
bool takes_taps(const Conv3dForm& form, const at::Tensor& input, const at::Tensor& weight);

/// at::conv3d() of volumes [N, 1, D, H, W] with a kernel [O, 1, d, h, w] of at most eight taps in a row, and
/// a bias [O] or none: the same products and eighths of zeros, as a convolution of eight channels with a
/// kernel d x h x 1. Keeps eight times the volumes for backward. Differentiable any number of times.
at::Tensor taps_conv(const at::Tensor& volumes, const at::Tensor& kernel, const at::Tensor& bias,
                     const std::array<int64_t, 3>& stride, const std::array<int64_t, 3>& padding);

}  // namespace larmor
