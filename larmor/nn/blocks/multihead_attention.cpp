#include "larmor/nn/blocks/multihead_attention.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <torch/nn/init.h>

#include "larmor/nn/blocks/heads.h"

namespace larmor::nn {

MultiheadAttention::MultiheadAttention(int64_t channels, int64_t heads, double drop, const std::string& path,
                                       c10::Device device)
    : heads_(heads),
      in_proj_weight_(register_parameter("in_proj_weight", at::empty({3 * channels, channels}, device))),
      in_proj_bias_(register_parameter("in_proj_bias", at::zeros(3 * channels, device))),
      out_(register_module("out_proj", linear_weights(channels, channels, /*has_bias=*/true, device))),
      dropout_(drop, path) {
  if (device.is_meta()) return;
  torch::nn::init::xavier_uniform_(in_proj_weight_);
  const at::NoGradGuard no_gradient;
  out_->bias().zero_();
}

at::Tensor MultiheadAttention::forward(const at::Tensor& tokens, const at::Tensor& context,
                                       const at::Tensor& seen) {
  const int64_t channels = in_proj_weight_.size(1);
  const at::Tensor query =
      at::linear(tokens, in_proj_weight_.narrow(0, 0, channels), in_proj_bias_.narrow(0, 0, channels));
  const at::Tensor both = at::linear(context, in_proj_weight_.narrow(0, channels, 2 * channels),
                                     in_proj_bias_.narrow(0, channels, 2 * channels));
  dropout_.train(is_training());
  const at::Tensor mixed =
      attend(query, both.narrow(2, 0, channels), both.narrow(2, channels, channels), heads_, seen, &dropout_);
  return linear(mixed, *out_);
}

}  // namespace larmor::nn
