#include "larmor/kernels/norms/batch_norm_relu_plain.h"

#include <vector>

#include <ATen/ATen.h>

namespace larmor {

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> plain_batch_norm_backward(
    const at::Tensor& gradient, const at::Tensor& input, const BatchMoments& moments,
    const BatchNormParts& parts, const at::Tensor& output) {
  using at::Tensor;
  // What has fewer bits is computed in float32.
  const at::ScalarType type = input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const int64_t samples = input.size(0), channels = input.size(1);
  const std::vector<int64_t> by_channel{samples, channels, -1}, but_channels{0, 2};
  const auto of_channels = [&](const Tensor& values) { return values.to(type).view({1, channels, 1}); };
  const Tensor values = input.to(type).reshape(by_channel), weight = of_channels(parts.weight);
  // The moments of the batch again, so that derivatives go through them.
  const Tensor mean = parts.constant_moments ? of_channels(moments.mean) : values.mean(but_channels, true);
  const Tensor distance = values - mean;
  const Tensor variance =
      parts.constant_moments ? of_channels(moments.variance) : distance.square().mean(but_channels, true);
  const Tensor rstd = (variance + parts.epsilon).rsqrt(), unit = distance * rstd;
  Tensor below = gradient.to(type).reshape(by_channel);
  if (parts.activated) {
    const Tensor value =
        parts.residual.defined() ? output.reshape(by_channel) : unit * weight + of_channels(parts.bias);
    below = below * (value > 0);
  }
  Tensor centred = below;
  if (!parts.constant_moments)
    centred = below - below.mean(but_channels, true) - unit * (below * unit).mean(but_channels, true);
  const auto as_given = [&](const Tensor& flat) {
    return flat.reshape(input.sizes()).to(input.scalar_type());
  };
  return {as_given(rstd * weight * centred), (below * unit).sum(but_channels), below.sum(but_channels),
          parts.residual.defined() ? as_given(below) : Tensor()};
}

}  // namespace larmor
