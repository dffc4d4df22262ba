// A convolution of kernel 1 over images.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor::nn {

class LayerWeights;

/// image [N, C, H, W], weights [out, C, 1, 1] with a bias; [N, out, H, W]. Computed as a product: oneDNN
/// chooses its algorithm for such a convolution, and with it the order of its sums, by the number of threads,
/// and a prediction is to be the same on any.
at::Tensor pointwise(const at::Tensor& image, const LayerWeights& weights);

}  // namespace larmor::nn
