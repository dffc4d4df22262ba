// The gradient of group normalisation by operators of libtorch that have gradients themselves: what backward
// computes where a graph is made of it, for derivatives beyond the first.
#pragma once

#include <cstdint>
#include <tuple>

#include <ATen/core/Tensor.h>

namespace larmor {

/// Gradients of the input, of weight and of bias. Weight and bias [C], or undefined.
std::tuple<at::Tensor, at::Tensor, at::Tensor> plain_group_norm_backward(
    const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
    int64_t groups, double epsilon, bool activated);

}  // namespace larmor
