// A convolution of one voxel's channels: forward it is conv3d()'s, backward two products of matrices.
#pragma once

#include <ATen/core/Tensor.h>

#include "larmor/kernels/convolution/conv3d_form.h"

namespace larmor {

/// Whether pointwise_conv() is for these: a kernel of one voxel, in float32 on volumes with channels last.
bool is_pointwise(const Conv3dForm& form, const at::Tensor& input, const at::Tensor& weight);

/// convolved() of volumes_for(), kernel_for() and bias_for(), the same bits. oneDNN's gradients of a kernel
/// of one voxel take up to five times as long as the same sums written as products of matrices.
at::Tensor pointwise_conv(const Conv3dForm& form, const at::Tensor& volumes, const at::Tensor& kernel,
                          const at::Tensor& bias);

}  // namespace larmor
