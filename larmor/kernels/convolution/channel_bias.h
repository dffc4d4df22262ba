// A number of each channel, added to all of its voxels: the bias of a convolution, or what a time gives a
// block.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor {

/// Adds bias [C], or [N, C] for each sample its own, to input [N, C, …], in its memory, which nothing else
/// may need: the sum has the input's type and layout, and the gradients of input and bias have theirs.
/// Differentiable any number of times. 16-bit types on a GPU are added 16 bytes at a time, and the gradient
/// of the bias is summed in float64 from float32 parts; libtorch's operators do the rest.
at::Tensor add_channel_bias(const at::Tensor& input, const at::Tensor& bias);

/// Whether add_channel_bias() behind a convolution of `input` in `type` is faster than the bias within it.
bool is_bias_apart(const at::Tensor& input, at::ScalarType type);

}  // namespace larmor
