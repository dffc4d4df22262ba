// How near an operator's output and gradients come to another's.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace larmor::testing {

/// The greatest |actual - wanted| / |wanted| (norms; a `wanted` below 1 counts as 1) of all; infinity where a
/// number is none. `wanted` is in float64.
double most_apart(const std::vector<at::Tensor>& actual, const std::vector<at::Tensor>& wanted);

bool have_equal_bits(const std::vector<at::Tensor>& left, const std::vector<at::Tensor>& right);

}  // namespace larmor::testing
