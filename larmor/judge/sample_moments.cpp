#include "larmor/judge/sample_moments.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include "larmor/base/ensure.h"

namespace larmor {

void SampleMoments::add(const at::Tensor& sample) {
  const at::Tensor value = sample.to(at::kDouble);
  if (++count_ == 1) {
    mean_ = value.clone();
    squares_ = at::zeros_like(value);
    return;
  }
  const at::Tensor before = value - mean_;
  mean_.add_(before, 1.0 / static_cast<double>(count_));
  squares_.addcmul_(before, value - mean_);
}

at::Tensor SampleMoments::deviation() const {
  ensure(count_ > 1);
  return (squares_ / static_cast<double>(count_ - 1)).sqrt();
}

}  // namespace larmor
