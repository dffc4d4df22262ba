#include "larmor/nn/metrics/overlap.h"

#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/TensorBody.h>
#include <ATen/ops/arange.h>

namespace larmor::nn {

at::Tensor as_one_hot(const at::Tensor& classes, int64_t count) {
  std::vector<int64_t> shape(static_cast<std::size_t>(classes.dim()), 1);
  shape[1] = count;
  return classes.eq(at::arange(count, classes.options().dtype(at::kLong)).view(shape));
}

at::Tensor dice(const at::Tensor& predicted, const at::Tensor& truth, int64_t count) {
  const at::Tensor here = as_one_hot(predicted, count).flatten(2),
                   there = as_one_hot(truth, count).flatten(2);
  // Sums of booleans are whole numbers: exact, and the same on every device.
  const at::Tensor common = here.logical_and(there).sum(2).to(at::kDouble);
  return 2 * common / (here.sum(2) + there.sum(2)).to(at::kDouble);  // 0 / 0 is NaN
}

}  // namespace larmor::nn
