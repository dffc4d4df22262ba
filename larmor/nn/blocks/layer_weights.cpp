#include "larmor/nn/blocks/layer_weights.h"

#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

#include "larmor/device/initialisation.h"
#include "larmor/kernels/linear_layer.h"

namespace larmor::nn {

LayerWeights::LayerWeights(at::IntArrayRef weight_sizes, bool has_bias, c10::Device device)
    : weight_(register_parameter("weight", at::empty(weight_sizes, device))) {
  if (has_bias) bias_ = register_parameter("bias", at::empty(weight_sizes[0], device));
  if (device.is_meta()) return;
  initialise_kaiming_uniform(weight_, std::sqrt(5.0));
  if (!has_bias) return;
  const double bound = 1 / std::sqrt(static_cast<double>(weight_.numel() / weight_.size(0)));
  initialise_uniform(bias_, -bound, bound);
}

void LayerWeights::zero() {
  const at::NoGradGuard no_gradient;
  weight_.zero_();
  if (bias_.defined()) bias_.zero_();
}

void LayerWeights::draw_normal(double deviation) {
  if (weight_.is_meta()) return;
  initialise_normal(weight_, 0, deviation);
  const at::NoGradGuard no_gradient;
  if (bias_.defined()) bias_.zero_();
}

std::shared_ptr<LayerWeights> linear_weights(int64_t in, int64_t out, bool has_bias, c10::Device device) {
  return std::make_shared<LayerWeights>(at::IntArrayRef({out, in}), has_bias, device);
}

at::Tensor linear(const at::Tensor& input, const LayerWeights& weights) {
  // What is predicted must not depend on how many examples are predicted at a time.
  return weights.is_training() ? linear_layer(input, weights.weight(), weights.bias())
                               : at::linear(input, weights.weight(), weights.bias());
}

}  // namespace larmor::nn
