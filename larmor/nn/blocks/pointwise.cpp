#include "larmor/nn/blocks/pointwise.h"

#include <ATen/ops/baddbmm.h>

#include "larmor/nn/blocks/layer_weights.h"

namespace larmor::nn {

at::Tensor pointwise(const at::Tensor& image, const LayerWeights& weights) {
  const at::Tensor matrix = weights.weight().flatten(1);
  const at::Tensor& bias = weights.bias();
  return at::baddbmm(bias.view({1, -1, 1}), matrix.unsqueeze(0).expand({image.size(0), -1, -1}),
                     image.flatten(2))
      .unflatten(2, {image.size(2), image.size(3)});
}

}  // namespace larmor::nn
