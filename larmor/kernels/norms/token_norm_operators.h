// What larmor::token_norm computes, by libtorch's operators: on GPUs, and where a derivative beyond the first
// is asked for.
#pragma once

#include <tuple>

#include <ATen/core/Tensor.h>

namespace larmor::token_norms {

/// Arguments of the operator; scale and shift are both undefined or neither.
struct Arguments {
  at::Tensor input;         // [N, ..., C]
  at::Tensor weight, bias;  // [C]
  at::Tensor scale, shift;  // [N, C]
};

struct Gradients {
  at::Tensor input, weight, bias, scale, shift;
};

/// [N, C] beside tokens [N, ..., C].
at::Tensor beside_tokens(const at::Tensor& of_samples, const at::Tensor& tokens);

/// The result, and mean and reciprocal deviation of each token.
std::tuple<at::Tensor, at::Tensor, at::Tensor> forward_by_operators(const Arguments& given, double epsilon);
Gradients backward_by_operators(const at::Tensor& gradient, const Arguments& given, const at::Tensor& mean,
                                const at::Tensor& rstd);

/// The result by operators that have derivatives of any order.
at::Tensor plain_token_norm(const Arguments& given, double epsilon);

}  // namespace larmor::token_norms
