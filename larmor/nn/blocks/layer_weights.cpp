#include "larmor/nn/blocks/layer_weights.h"

#include <cmath>

#include <ATen/ops/empty.h>
#include <torch/nn/init.h>

namespace larmor::nn {

LayerWeights::LayerWeights(at::IntArrayRef weight_sizes, bool has_bias, c10::Device device)
    : weight_(register_parameter("weight", at::empty(weight_sizes, device))) {
  if (has_bias) bias_ = register_parameter("bias", at::empty(weight_sizes[0], device));
  if (device.is_meta()) return;
  torch::nn::init::kaiming_uniform_(weight_, std::sqrt(5.0));
  if (!has_bias) return;
  const double bound = 1 / std::sqrt(static_cast<double>(weight_.numel() / weight_.size(0)));
  torch::nn::init::uniform_(bias_, -bound, bound);
}

}  // namespace larmor::nn
