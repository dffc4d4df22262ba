// Group normalisation, alone or with SiLU behind it, as operators of libtorch's dispatcher
// (larmor::group_norm_silu and its backward) for CPUs, GPUs and the meta device. The result and the gradient
// lie in memory as the input does, channels first or last, and have its type: statistics are float64, sums
// float32 at least. Backward keeps the input, the weights and the statistics, and not what SiLU is taken of.
// On CPUs the bits depend neither on the number of threads nor on the CPU. Differentiable any number of
// times; derivatives beyond the first are computed by libtorch's plain operators.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace larmor {

/// input [N, C, …] of any floating type and layout; weight and bias [C], or undefined for ones and zeros.
/// Requires: `groups` divides C.
at::Tensor normalise_groups(const at::Tensor& input, int64_t groups, const at::Tensor& weight,
                            const at::Tensor& bias, double epsilon);
/// SiLU of normalise_groups().
at::Tensor group_norm_silu(const at::Tensor& input, int64_t groups, const at::Tensor& weight,
                           const at::Tensor& bias, double epsilon);

}  // namespace larmor
