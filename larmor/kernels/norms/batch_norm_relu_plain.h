// The gradient of batch normalisation by operators of libtorch that have gradients themselves: what backward
// computes where a graph is made of it, for derivatives beyond the first.
#pragma once

#include <tuple>

#include <ATen/core/Tensor.h>

#include "larmor/kernels/norms/batch_norm_relu.h"

namespace larmor {

/// Gradients of the input, of weight, of bias, and of the residual.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> plain_batch_norm_backward(
    const at::Tensor& gradient, const at::Tensor& input, const BatchMoments& moments,
    const BatchNormParts& parts, const at::Tensor& output);

}  // namespace larmor
