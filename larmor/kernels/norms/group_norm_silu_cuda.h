// The GPU's half of group_norm_silu.cpp. A build without CUDA takes the twin that refuses.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace larmor {

/// Tensors of one of the two layouts, and what belongs to them: weight and bias [C], float32 or float64, or
/// undefined for ones and zeros; mean and rstd [N, groups], float64.
struct GroupNormOnGpu {
  at::Tensor input, weight, bias, mean, rstd;
  int64_t groups;
  bool channels_last, activated;
};

/// Fills mean, rstd and `output`, which lies as the input does.
void group_norm_on_gpu(const GroupNormOnGpu& norm, double epsilon, const at::Tensor& output);
/// Fills `of_input`, which lies as the input does, as `gradient` has to, and of_weight and of_bias [C]
/// float64.
void group_norm_backward_on_gpu(const GroupNormOnGpu& norm, const at::Tensor& gradient,
                                const at::Tensor& of_input, const at::Tensor& of_weight,
                                const at::Tensor& of_bias);

}  // namespace larmor
