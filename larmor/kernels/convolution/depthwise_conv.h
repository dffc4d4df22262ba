// A depthwise convolution of pictures with a kernel of 7, whose weights learn at the speed of the rest.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor {

/// at::conv2d() of [N, C, H, W] with a weight [C, 1, 7, 7] and a bias [C], in C groups, with stride 1 and
/// padding 3. The output is libtorch's, bit for bit, and so is the gradient of the input. In float32 with
/// channels last on a CPU the gradient of the weight is a loop of our own, for which oneDNN takes 4 to 11
/// times as long, and the bias's is a sum of its own: the same bits on any number of threads. All else (other
/// layouts, types and devices, autocast, second derivatives) is libtorch's.
at::Tensor depthwise_conv(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias);

/// Whether depthwise_conv() takes the loop for the gradient of the weight.
bool is_depthwise_by_loop(const at::Tensor& input, const at::Tensor& weight);

}  // namespace larmor
