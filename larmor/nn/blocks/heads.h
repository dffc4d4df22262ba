// Attention of several heads, which self-attention and cross-attention have in common.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace larmor::nn {

/// query [N, L, C], key and value [N, M, C], cut into `heads` along C, give [N, L, C]: each head's softmax of
/// its scaled scores, applied to its values. Requires: `heads` divides C.
at::Tensor attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, int64_t heads);

}  // namespace larmor::nn
