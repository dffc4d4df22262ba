#include "larmor/nn/blocks/layer_norm.h"

#include <ATen/ops/layer_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

namespace larmor::nn {

LayerNorm::LayerNorm(int64_t channels, c10::Device device, double epsilon)
    : epsilon_(epsilon),
      weight_(register_parameter("weight", at::ones(channels, device))),
      bias_(register_parameter("bias", at::zeros(channels, device))) {}

at::Tensor LayerNorm::forward(const at::Tensor& tokens) {
  return at::layer_norm(tokens, weight_.sizes(), weight_, bias_, epsilon_);
}

}  // namespace larmor::nn
