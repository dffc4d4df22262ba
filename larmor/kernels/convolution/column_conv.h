// Convolutions as products of matrices on CPUs, in which no value rests on memory that nobody wrote
// (docs/decisions/0075).
#pragma once

#include <array>
#include <tuple>

#include <ATen/core/Tensor.h>

namespace larmor {

/// A convolution of volumes [N, C, D, H, W] by a kernel [O, C, d, h, w], both in float32 or both in bfloat16,
/// on a CPU: each result's taps become a row of a matrix, and results are its product with the kernel. The
/// matrices have whole numbers of the blocks in which libraries read them, all of whose numbers are written.
/// `bias` may be undefined. Gives channels last, and no gradient.
at::Tensor column_conv(const at::Tensor& volumes, const at::Tensor& kernel, const at::Tensor& bias,
                       const std::array<int64_t, 3>& stride, const std::array<int64_t, 3>& padding);

/// The gradients of volumes, kernel and bias where they are wanted. They have no gradient themselves.
std::tuple<at::Tensor, at::Tensor, at::Tensor> column_conv_gradients(const at::Tensor& gradient,
                                                                     const at::Tensor& volumes,
                                                                     const at::Tensor& kernel,
                                                                     const std::array<int64_t, 3>& stride,
                                                                     const std::array<int64_t, 3>& padding,
                                                                     const std::array<bool, 3>& wanted);

/// column_conv() of operators that autograd knows, in any type and on any device, for derivatives of
/// derivatives. It holds the whole matrix.
at::Tensor plain_column_conv(const at::Tensor& volumes, const at::Tensor& kernel, const at::Tensor& bias,
                             const std::array<int64_t, 3>& stride, const std::array<int64_t, 3>& padding);

}  // namespace larmor
