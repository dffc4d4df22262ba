// libtorch's 3-D convolution, without a mistake and a detour that it makes on CPUs, and by fewer products
// where winograd_conv.h has them.
#pragma once

#include <array>

#include <ATen/core/Tensor.h>

namespace larmor {

/// at::conv3d(), within rounding, in the layout of layout_here(), which the result keeps, in one group:
/// [N, C, D, H, W] and a weight [O, C, d, h, w] give [N, O, D', H', W']; `bias` may be undefined. Where the
/// padding makes up for an image that is no longer than the kernel, oneDNN's kernels for AVX-512 (libtorch
/// 2.11; bf16 with any kernel, float32 with one of 7³ and a stride) give gradients of the weights that are of
/// memory never written, and write where they may not. Such an image is padded before it is convolved.
at::Tensor conv3d(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                  const std::array<int64_t, 3>& stride, const std::array<int64_t, 3>& padding);

}  // namespace larmor
