#include "larmor/kernels/norms/token_norm_operators.h"

#include <ATen/ATen.h>

namespace larmor::token_norms {
namespace {

using at::Tensor;

/// What numbers of this type are computed in.
at::ScalarType wide_type(const Tensor& input) {
  return input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// The sums of each sample, [N, C].
Tensor sums_of_samples(const Tensor& tokens) {
  return tokens.reshape({tokens.size(0), -1, tokens.size(-1)}).sum(1);
}

}  // namespace

Tensor beside_tokens(const Tensor& of_samples, const Tensor& tokens) {
  std::vector<int64_t> sizes(static_cast<size_t>(tokens.dim()), 1);
  sizes.front() = of_samples.size(0);
  sizes.back() = of_samples.size(1);
  return of_samples.reshape(sizes);
}

std::tuple<Tensor, Tensor, Tensor> forward_by_operators(const Arguments& given, double epsilon) {
  const at::ScalarType type = wide_type(given.input);
  const Tensor input = given.input.to(type).contiguous();
  auto [output, mean, rstd] =
      at::native_layer_norm(input, {input.size(-1)}, given.weight.to(type), given.bias.to(type), epsilon);
  if (given.scale.defined())
    output = output * (1 + beside_tokens(given.scale.to(type), input)) +
             beside_tokens(given.shift.to(type), input);
  return {output.to(given.input.scalar_type()), mean.squeeze(-1), rstd.squeeze(-1)};
}

Gradients backward_by_operators(const Tensor& gradient, const Arguments& given, const Tensor& mean,
                                const Tensor& rstd) {
  const at::ScalarType type = wide_type(given.input);
  const Tensor input = given.input.to(type).contiguous(), slopes = gradient.to(type).contiguous(),
               weight = given.weight.to(type), bias = given.bias.to(type), centre = mean.unsqueeze(-1),
               by = rstd.unsqueeze(-1);
  Gradients found;
  Tensor inner = slopes;
  if (given.scale.defined()) {
    inner = slopes * (1 + beside_tokens(given.scale.to(type), input));
    found.shift = sums_of_samples(slopes).to(given.shift.scalar_type());
    found.scale =
        sums_of_samples(slopes * ((input - centre) * by * weight + bias)).to(given.scale.scalar_type());
  }
  const auto [of_input, of_weight, of_bias] = at::native_layer_norm_backward(
      inner, input, {input.size(-1)}, centre, by, weight, bias, {true, true, true});
  found.input = of_input.to(given.input.scalar_type());
  found.weight = of_weight.to(given.weight.scalar_type());
  found.bias = of_bias.to(given.bias.scalar_type());
  return found;
}

Tensor plain_token_norm(const Arguments& given, double epsilon) {
  const at::ScalarType type = wide_type(given.input);
  const Tensor input = given.input.to(type);
  Tensor output =
      at::layer_norm(input, {input.size(-1)}, given.weight.to(type), given.bias.to(type), epsilon);
  if (given.scale.defined())
    output = output * (1 + beside_tokens(given.scale.to(type), input)) +
             beside_tokens(given.shift.to(type), input);
  return output.to(given.input.scalar_type());
}

}  // namespace larmor::token_norms
