// Mean and standard deviation of samples that come one at a time, element by element.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace larmor {

/// Mean and deviation by Welford's method: two tensors in float64, however many samples there are.
class SampleMoments {
 public:
  /// Requires: shaped and placed as the first one.
  void add(const at::Tensor& sample);
  int64_t count() const { return count_; }
  /// Float64. Requires: a sample.
  const at::Tensor& mean() const { return mean_; }
  /// Float64, over one less than there are samples. Requires: two samples.
  at::Tensor deviation() const;

 private:
  int64_t count_ = 0;
  at::Tensor mean_, squares_;  // the sum of squared distances to the mean
};

}  // namespace larmor
