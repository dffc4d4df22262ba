// The gradient of attention by operators of libtorch that have gradients themselves: what backward computes
// where a graph is made of it, for derivatives beyond the first.
#pragma once

#include <tuple>

#include <ATen/core/Tensor.h>

namespace larmor {

/// Gradients of queries, keys and values, [N, heads, tokens, width] all of them.
std::tuple<at::Tensor, at::Tensor, at::Tensor> plain_attention_backward(const at::Tensor& gradient,
                                                                        const at::Tensor& query,
                                                                        const at::Tensor& key,
                                                                        const at::Tensor& value);

}  // namespace larmor
