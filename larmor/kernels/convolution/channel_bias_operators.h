// The operators of channel_bias.cpp on a GPU. A build without CUDA takes twins that refuse.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor::channel_bias {

/// bias [C] or [N, C], of any floating type.
void add_on_gpu(const at::Tensor& input, const at::Tensor& bias);
/// [C], or [N, C] of each sample, of type `result`.
at::Tensor sums_on_gpu(const at::Tensor& gradient, bool of_each_sample, at::ScalarType result);

}  // namespace larmor::channel_bias
