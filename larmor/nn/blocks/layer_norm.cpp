#include "larmor/nn/blocks/layer_norm.h"

#include <ATen/ops/layer_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "larmor/kernels/norms/token_norm.h"

namespace larmor::nn {

at::Tensor layer_norm(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                      double epsilon) {
  if (weight.element_size() >= input.element_size())
    return at::layer_norm(input, weight.sizes(), weight, bias, epsilon);
  const auto type = input.scalar_type();
  return at::layer_norm(input, weight.sizes(), weight.to(type), bias.to(type), epsilon);
}

LayerNorm::LayerNorm(int64_t channels, c10::Device device, double epsilon)
    : epsilon_(epsilon),
      weight_(register_parameter("weight", at::ones(channels, device))),
      bias_(register_parameter("bias", at::zeros(channels, device))) {}

at::Tensor LayerNorm::forward(const at::Tensor& tokens) {
  return layer_norm(tokens, weight_, bias_, epsilon_);
}

at::Tensor LayerNorm::forward_modulated(const at::Tensor& tokens, const at::Tensor& scale,
                                        const at::Tensor& shift) {
  return normalise_and_modulate(tokens, weight_, bias_, scale, shift, epsilon_);
}

}  // namespace larmor::nn
