#include "larmor/nn/blocks/group_norm.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "larmor/kernels/norms/group_norm_silu.h"

namespace larmor::nn {

GroupNorm::GroupNorm(int64_t groups, int64_t channels, double epsilon, c10::Device device)
    : groups_(groups),
      epsilon_(epsilon),
      weight_(register_parameter("weight", at::ones(channels, device))),
      bias_(register_parameter("bias", at::zeros(channels, device))) {}

at::Tensor GroupNorm::forward(const at::Tensor& input) {
  return normalise_groups(input, groups_, weight_, bias_, epsilon_);
}

at::Tensor GroupNorm::forward_silu(const at::Tensor& input) {
  return group_norm_silu(input, groups_, weight_, bias_, epsilon_);
}

}  // namespace larmor::nn
