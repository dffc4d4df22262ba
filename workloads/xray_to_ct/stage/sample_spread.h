// Whether the spread of several samples tells where their mean is wrong.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/judge/sample_moments.h"

namespace larmor::xray_to_ct {

/// Spearman's, of two tensors of one shape; equal values share the mean of their ranks. NaN where one of them
/// is of one value all over.
double rank_correlation(const at::Tensor& one, const at::Tensor& other);

/// Samples of one volume, every second one apart. What sorts voxels must not be what they are measured by:
/// the smallest of many estimates of one deviation are too small.
class SpreadSamples {
 public:
  /// How many samples both halves need for a deviation of their own.
  static constexpr int64_t fewest = 4;

  /// Requires: shaped and placed as the first one.
  void add(const at::Tensor& sample);
  int64_t count() const { return all_.count(); }
  const SampleMoments& all() const { return all_; }
  /// The half that sorts, and the one that is measured.
  const SampleMoments& sorting() const { return sorting_; }
  const SampleMoments& measured() const { return measured_; }
  /// What the error of a mean of measured().count() samples is multiplied by to be that of one sample: the
  /// mean of K draws of a right posterior misses the truth by 1 + 1/K of its variance.
  double error_scale() const;

 private:
  SampleMoments all_, sorting_, measured_;
};

/// Voxels of about the same deviation: root mean squares of the measured one, and of the error.
struct SpreadBin {
  double deviation = 0, error = 0;
};

/// Voxels in the order of `sorting`, cut into `bins` of equal number. A spread that is right has as much
/// deviation as error in each, where `sorting` is independent of both. Requires: a voxel a bin; all have the
/// same shape.
std::vector<SpreadBin> spread_bins(const at::Tensor& sorting, const at::Tensor& deviation,
                                   const at::Tensor& error, int64_t bins);

}  // namespace larmor::xray_to_ct
