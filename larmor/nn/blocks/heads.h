// Attention of several heads, which self-attention and cross-attention have in common.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace larmor::nn {

class Dropout;

/// query [N, L, C], key and value [N, M, C], cut into `heads` along C, give [N, L, C]: each head's softmax of
/// its scaled scores, applied to its values. Where `seen` [N, M] (bool) is given, keys that are false in it
/// have no weight; a row has one that is true. `dropout`, where there is one that drops, is of the weights,
/// which are then kept in memory: libtorch's fused kernels would draw from a generator of their own.
/// Requires: `heads` divides C.
at::Tensor attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, int64_t heads,
                  const at::Tensor& seen = {}, Dropout* dropout = nullptr);

}  // namespace larmor::nn
