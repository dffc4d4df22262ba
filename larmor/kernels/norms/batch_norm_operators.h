// The five operators of batch_norm_relu.cpp on each device: a CPU, a GPU, and the meta device, where shapes
// and layouts alone are computed. A build without CUDA takes twins that refuse.
#pragma once

#include <optional>
#include <tuple>

#include <ATen/core/Tensor.h>

namespace larmor::batch_norms {

using Optional = std::optional<at::Tensor>;
using Two = std::tuple<at::Tensor, at::Tensor>;

/// The input's mean and biased variance [C], float64.
using MomentsOperator = Two(const at::Tensor& input);
/// Moves the running moments towards mean and variance, which `count` makes an unbiased one.
using RememberOperator = void(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& count,
                              const at::Tensor& running_mean, const at::Tensor& running_variance,
                              double momentum);
using ForwardOperator = at::Tensor(const at::Tensor& input, const Optional& added, const at::Tensor& weight,
                                   const at::Tensor& bias, const at::Tensor& mean, const at::Tensor& variance,
                                   double epsilon, bool activated);
/// Where the output is given, the gradient behind its ReLU, else an undefined tensor; and the gradients of
/// weight and bias [2, C], float64.
using SumsOperator = Two(const at::Tensor& gradient, const at::Tensor& input, const Optional& output,
                         const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& mean,
                         const at::Tensor& variance, double epsilon, bool activated);
/// The gradient of the input. `means` are those of the sums over all values, or nothing where moments are
/// constants. Where `gated`, ReLU has not been applied to the gradient yet.
using BackwardOperator = at::Tensor(const at::Tensor& gradient, const at::Tensor& input,
                                    const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& mean,
                                    const at::Tensor& variance, const Optional& means, double epsilon,
                                    bool gated);

MomentsOperator moments_on_cpu, moments_on_gpu, moments_on_meta;
RememberOperator remember_on_cpu, remember_on_gpu, remember_on_meta;
ForwardOperator normalise_on_cpu, normalise_on_gpu, normalise_on_meta;
SumsOperator sum_gradients_on_cpu, sum_gradients_on_gpu, sum_gradients_on_meta;
BackwardOperator differentiate_on_cpu, differentiate_on_gpu, differentiate_on_meta;

}  // namespace larmor::batch_norms
