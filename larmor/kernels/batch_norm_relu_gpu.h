// The operators of batch_norm_relu.cpp on GPUs: libtorch's kernels for norms over ranks, which know both
// layouts, with sum and ReLU beside them.
#pragma once

#include <optional>
#include <tuple>

#include <ATen/core/Tensor.h>

namespace larmor::batch_norms {

/// mean and biased variance [C], float64
std::tuple<at::Tensor, at::Tensor> moments_on_gpu(const at::Tensor& input);

at::Tensor normalise_on_gpu(const at::Tensor& input, const std::optional<at::Tensor>& added,
                            const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& mean,
                            const at::Tensor& variance, double epsilon, bool activated);

std::tuple<at::Tensor, at::Tensor> sum_gradients_on_gpu(const at::Tensor& gradient, const at::Tensor& input,
                                                        const std::optional<at::Tensor>& output,
                                                        const at::Tensor& weight, const at::Tensor& bias,
                                                        const at::Tensor& mean, const at::Tensor& variance,
                                                        double epsilon, bool activated);

at::Tensor differentiate_on_gpu(const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& weight,
                                const at::Tensor& bias, const at::Tensor& mean, const at::Tensor& variance,
                                const std::optional<at::Tensor>& means, double epsilon, bool gated);

}  // namespace larmor::batch_norms
