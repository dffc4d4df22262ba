// The operator larmor::group_norm_silu and its backward, for operators that are made of them.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include <ATen/core/Tensor.h>

#include "larmor/kernels/operator.h"

namespace larmor::group_norms {

/// The result, and mean and reciprocal deviation of each group, float64 [N, groups].
using Forward =
    Operator<"group_norm_silu",
             std::tuple<at::Tensor, at::Tensor, at::Tensor>(
                 const at::Tensor& input, const std::optional<at::Tensor>& weight,
                 const std::optional<at::Tensor>& bias, int64_t groups, double epsilon, bool activated)>;

/// The gradients of input, weight and bias. They have no gradient themselves.
using Backward =
    Operator<"group_norm_silu_backward",
             std::tuple<at::Tensor, at::Tensor, at::Tensor>(
                 const at::Tensor& gradient, const at::Tensor& input, const std::optional<at::Tensor>& weight,
                 const std::optional<at::Tensor>& bias, const at::Tensor& mean, const at::Tensor& rstd,
                 int64_t groups, bool activated)>;

}  // namespace larmor::group_norms
