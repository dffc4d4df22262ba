#include "larmor/kernels/attention/attention_plain.h"

#include <cmath>

#include <ATen/ATen.h>

namespace larmor {

std::tuple<at::Tensor, at::Tensor, at::Tensor> plain_attention_backward(const at::Tensor& gradient,
                                                                        const at::Tensor& query,
                                                                        const at::Tensor& key,
                                                                        const at::Tensor& value) {
  using at::Tensor;
  const double scale = 1 / std::sqrt(static_cast<double>(query.size(-1)));
  const Tensor weights = at::softmax(at::matmul(query, key.transpose(-2, -1)) * scale, -1);
  const Tensor of_weights = at::matmul(gradient, value.transpose(-2, -1));
  const Tensor shares = (weights * of_weights).sum(-1, /*keepdim=*/true);
  const Tensor of_scores = weights * (of_weights - shares) * scale;
  return {at::matmul(of_scores, key), at::matmul(of_scores.transpose(-2, -1), query),
          at::matmul(weights.transpose(-2, -1), gradient)};
}

}  // namespace larmor
