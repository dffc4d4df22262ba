// Convolutions of pictures by the paths that conv3d() knows to be right.
#pragma once

#include <array>

#include <ATen/core/Tensor.h>

namespace larmor {

/// at::conv2d(), within rounding, in one group: [N, C, H, W] and a weight [O, C, h, w] give [N, O, H', W'] in
/// the layout of the input; `bias` may be undefined. On CPUs a picture is a volume of one slice to conv3d(),
/// whose rules and trials hold for it, and which throws as it says.
at::Tensor conv2d(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                  const std::array<int64_t, 2>& stride, const std::array<int64_t, 2>& padding);

}  // namespace larmor
