#include "larmor/nn/blocks/heads.h"

#include <ATen/ops/scaled_dot_product_attention.h>

namespace larmor::nn {

at::Tensor attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, int64_t heads) {
  const auto split = [heads](const at::Tensor& tokens) {  // [N, heads, L, C / heads]
    return tokens.unflatten(2, {heads, -1}).transpose(1, 2);
  };
  return at::scaled_dot_product_attention(split(query), split(key), split(value)).transpose(1, 2).flatten(2);
}

}  // namespace larmor::nn
