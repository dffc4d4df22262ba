#include "larmor/nn/blocks/heads.h"

#include <cmath>
#include <limits>
#include <optional>

#include <ATen/ops/bitwise_not.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include "larmor/kernels/attention/attention.h"
#include "larmor/nn/blocks/dropout.h"

namespace larmor::nn {
namespace {

at::Tensor attend_in_parts(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                           const std::optional<at::Tensor>& seen, Dropout& dropout) {
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  at::Tensor scores = at::matmul(query * scale, key.transpose(-2, -1));
  if (seen) scores = scores.masked_fill(at::bitwise_not(*seen), -std::numeric_limits<double>::infinity());
  return at::matmul(dropout.forward(at::softmax(scores, -1)), value);
}

}  // namespace

at::Tensor attend(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, int64_t heads,
                  const at::Tensor& seen, Dropout* dropout) {
  const auto split = [heads](const at::Tensor& tokens) {  // [N, heads, L, C / heads]
    return tokens.unflatten(2, {heads, -1}).transpose(1, 2);
  };
  std::optional<at::Tensor> mask;
  if (seen.defined()) mask = seen.unsqueeze(1).unsqueeze(1);  // [N, 1, 1, M]
  const at::Tensor mixed = dropout != nullptr && dropout->drops()
                               ? attend_in_parts(split(query), split(key), split(value), mask, *dropout)
                               : attention(split(query), split(key), split(value), mask);
  return mixed.transpose(1, 2).flatten(2);
}

}  // namespace larmor::nn
