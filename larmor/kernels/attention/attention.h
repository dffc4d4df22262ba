// Attention on CPUs by loops of our own, where libtorch's are slow.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

namespace larmor {

/// at::scaled_dot_product_attention() of queries [N, heads, L, width], keys and values [N, heads, M, width],
/// with a mask or none: [N, heads, L, width], which lies as [N, L, heads, width]. In float32, or of bfloat16
/// in float32, on a CPU with AVX-512, or with AVX2 and FMA, and without a mask it is computed by tiles,
/// forward and backward, and keeps what libtorch keeps: the arguments, the output, and a number a query. The
/// bits are the same on any number of threads and on each such CPU; they are not libtorch's. A sample's
/// output has the same bits alone and beside others, and so have its gradients up to 448 keys: those of
/// queries are added up in parts where keys are more, and how many parts there are depends on samples and
/// heads. All else (masks, other types and devices, float32 under autocast, wider heads than 128, few tokens,
/// second derivatives) is libtorch's.
at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const std::optional<at::Tensor>& mask = std::nullopt);

/// Whether attention() without a mask computes by tiles.
bool is_attention_by_tiles(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value);

}  // namespace larmor
