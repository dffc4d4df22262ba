// Channels of two volumes side by side, as at::cat(…, 1) joins them.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor {

/// first [N, C, …], second [N, D, …]: [N, C + D, …]. Differentiable any number of times; each part's gradient
/// is whole in memory. Those of at::cat() are views of the sum's, which convolutions bring together once for
/// each that reads them, and which keep the whole of it alive.
at::Tensor join_channels(const at::Tensor& first, const at::Tensor& second);

}  // namespace larmor
