// libtorch's 3-D convolution, without a mistake and a detour that it makes on CPUs, and by fewer products
// where winograd_conv.h has them.
#pragma once

#include <array>

#include <ATen/core/Tensor.h>

namespace larmor {

/// at::conv3d(), within rounding, in the layout of layout_here(), which the result keeps, in one group:
/// [N, C, D, H, W] and a weight [O, C, d, h, w] give [N, O, D', H', W']; `bias` may be undefined. On CPUs by
/// a path on which no value rests on memory that nobody wrote, and that was tried on this CPU where
/// start_trial_record() was called: throws Error (environment) where there is none.
at::Tensor conv3d(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                  const std::array<int64_t, 3>& stride, const std::array<int64_t, 3>& padding);

}  // namespace larmor
