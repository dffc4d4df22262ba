// Group normalisation, SiLU and a 3-D convolution as one step of autograd: what lies between them is computed
// again in backward instead of being kept, so that a block of a U-Net holds half of its activations.
#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace larmor {

struct GroupNormWeights {
  int64_t groups;
  at::Tensor weight, bias;  // [C]
  double epsilon;
};

/// conv3d() of group_norm_silu(): the same bits, forward and backward. Of the activations backward keeps the
/// input alone; the norm runs once more there, a hundredth of a U-Net's step. Differentiable any number of
/// times.
at::Tensor group_norm_silu_conv(const at::Tensor& input, const GroupNormWeights& norm,
                                const at::Tensor& weight, const at::Tensor& bias,
                                const std::array<int64_t, 3>& stride, const std::array<int64_t, 3>& padding);

}  // namespace larmor
