// Whether the spread of several samples tells where their mean is wrong.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace larmor::xray_to_ct {

/// Spearman's, of two tensors of one shape; equal values share the mean of their ranks. NaN where one of them
/// is of one value all over.
double rank_correlation(const at::Tensor& one, const at::Tensor& other);

/// Voxels of about the same deviation: root mean squares of that, and of the error of the mean.
struct SpreadBin {
  double deviation = 0, error = 0;
};

/// Voxels in the order of their deviation, cut into `bins` of equal number. A spread that is right has as
/// much deviation as error in each. Requires: a voxel a bin; both tensors have the same shape.
std::vector<SpreadBin> spread_bins(const at::Tensor& deviation, const at::Tensor& error, int64_t bins);

}  // namespace larmor::xray_to_ct
