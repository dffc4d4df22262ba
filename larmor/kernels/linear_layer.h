// A linear layer whose products of matrices are oneDNN's, where libtorch's own are slower.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor {

/// at::linear(): input [..., in], weight [out, in] and bias [out], which may be undefined, give [..., out].
/// In float32 on a CPU with AVX-512 the product and its two gradients are oneDNN's, but for products too
/// small to gain by it: MKL, which libtorch takes, computes with half the vector on CPUs that are not
/// Intel's, and takes twice as long. Everything else (other types and devices, autocast, second derivatives)
/// is libtorch's. The bits are not those of at::linear(); they are the same at each call, wherever the
/// tensors lie, and the number of threads changes none of the output and of the gradients of input and
/// weight; that of the bias is at::sum()'s, whose order of rows may change with it. How many rows there are
/// may change the bits of a row, so a prediction takes at::linear().
at::Tensor linear_layer(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias);

/// Whether linear_layer() leaves these two to oneDNN.
bool is_layer_by_one_dnn(const at::Tensor& input, const at::Tensor& weight);

}  // namespace larmor
