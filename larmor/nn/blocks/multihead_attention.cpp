#include "larmor/nn/blocks/multihead_attention.h"

#include <cmath>
#include <limits>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include "larmor/device/initialisation.h"
#include "larmor/kernels/linear_layer.h"
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
  initialise_xavier_uniform(in_proj_weight_);
  const at::NoGradGuard no_gradient;
  out_->bias().zero_();
}

at::Tensor MultiheadAttention::forward(const at::Tensor& tokens, const at::Tensor& context,
                                       const at::Tensor& seen) {
  const int64_t channels = in_proj_weight_.size(1);
  const at::Tensor query = projected(tokens, 0, 1), both = projected(context, 1, 2);
  dropout_.train(is_training());
  const at::Tensor mixed =
      attend(query, both.narrow(2, 0, channels), both.narrow(2, channels, channels), heads_, seen, &dropout_);
  return linear(mixed, *out_);
}

at::Tensor MultiheadAttention::projected(const at::Tensor& tokens, int64_t which, int64_t count) const {
  const int64_t channels = in_proj_weight_.size(1);
  const at::Tensor weight = in_proj_weight_.narrow(0, which * channels, count * channels);
  const at::Tensor bias = in_proj_bias_.narrow(0, which * channels, count * channels);
  return is_training() ? linear_layer(tokens, weight, bias) : at::linear(tokens, weight, bias);
}

at::Tensor MultiheadAttention::weights(const at::Tensor& tokens, const at::Tensor& context,
                                       const at::Tensor& seen) const {
  const int64_t wide = in_proj_weight_.size(1) / heads_;
  const auto by_heads = [&](const at::Tensor& made) {  // [N, heads, L, wide]
    return made.view({made.size(0), made.size(1), heads_, wide}).transpose(1, 2);
  };
  const at::Tensor keys = by_heads(projected(context, 1, 1)).transpose(2, 3);
  const at::Tensor scores =
      at::matmul(by_heads(projected(tokens, 0, 1)), keys) / std::sqrt(static_cast<double>(wide));
  const at::Tensor hidden = seen.logical_not().view({seen.size(0), 1, 1, seen.size(1)});
  return at::softmax(scores.masked_fill(hidden, -std::numeric_limits<double>::infinity()), -1).mean(1);
}

}  // namespace larmor::nn
