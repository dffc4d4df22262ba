#include "larmor/kernels/norms/group_norm_silu_plain.h"

#include <vector>

#include <ATen/ATen.h>

namespace larmor {

std::tuple<at::Tensor, at::Tensor, at::Tensor> plain_group_norm_backward(
    const at::Tensor& gradient, const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
    int64_t groups, double epsilon, bool activated) {
  using at::Tensor;
  // What has fewer bits is computed in float32.
  const at::ScalarType type = input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const int64_t samples = input.size(0), channels = input.size(1);
  const std::vector<int64_t> grouped{samples, groups, -1}, by_channel{samples, channels, -1};
  const std::vector<int64_t> but_channels{0, 2};
  const auto of_channels = [&](const Tensor& affine, double otherwise) {
    const Tensor numbers = affine.defined() ? affine : at::full({channels}, otherwise, input.options());
    return numbers.to(type).view({1, channels, 1});
  };
  const Tensor weights = of_channels(weight, 1), biases = of_channels(bias, 0);
  const Tensor flat = input.to(type).reshape(grouped);
  const Tensor distance = flat - flat.mean({-1}, /*keepdim=*/true);
  const Tensor rstd = (distance.square().mean({-1}, /*keepdim=*/true) + epsilon).rsqrt();
  const Tensor unit = distance * rstd, normalised = unit.view(by_channel);
  Tensor below = gradient.to(type).reshape(by_channel);
  if (activated) {
    const Tensor value = normalised * weights + biases, part = at::sigmoid(value);
    below = below * part * (1 + value * (1 - part));
  }
  const Tensor weighed = (below * weights).reshape(grouped);
  const Tensor of_input = rstd * (weighed - weighed.mean({-1}, /*keepdim=*/true) -
                                  unit * (weighed * unit).mean({-1}, /*keepdim=*/true));
  const auto as_affine = [&](const Tensor& sums, const Tensor& affine) {
    return affine.defined() ? sums.to(affine.scalar_type()) : sums;
  };
  return {of_input.reshape(input.sizes()).to(input.scalar_type()),
          as_affine((below * normalised).sum(but_channels), weight),
          as_affine(below.sum(but_channels), bias)};
}

}  // namespace larmor
