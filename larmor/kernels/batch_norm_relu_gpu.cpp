#include "larmor/kernels/batch_norm_relu_gpu.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/batch_norm_backward_elemt.h>
#include <ATen/ops/batch_norm_backward_reduce.h>
#include <ATen/ops/batch_norm_elemt.h>
#include <ATen/ops/batch_norm_update_stats.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/threshold_backward.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

namespace larmor::batch_norms {
namespace {

using at::Tensor;

/// The type of coefficients in libtorch's kernels.
at::ScalarType number_of(const Tensor& input) {
  return input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

Tensor rstd_of(const Tensor& variance, double epsilon) { return (variance + epsilon).rsqrt(); }

}  // namespace

std::tuple<Tensor, Tensor> moments_on_gpu(const Tensor& input) {
  // The kernel wants statistics to update.
  const Tensor unused = at::zeros({input.size(1)}, input.options().dtype(number_of(input)));
  const auto [mean, variance] = at::batch_norm_update_stats(input, unused, unused.clone(), /*momentum=*/0);
  return {mean.to(at::kDouble), variance.to(at::kDouble)};
}

Tensor normalise_on_gpu(const Tensor& input, const std::optional<Tensor>& added, const Tensor& weight,
                        const Tensor& bias, const Tensor& mean, const Tensor& variance, double epsilon,
                        bool activated) {
  const auto type = number_of(input);
  Tensor output = at::batch_norm_elemt(input, weight.to(type), bias.to(type), mean.to(type),
                                       rstd_of(variance, epsilon).to(type), epsilon);
  if (added) output.add_(*added);
  return activated ? at::relu_(output) : output;
}

std::tuple<Tensor, Tensor> sum_gradients_on_gpu(const Tensor& gradient, const Tensor& input,
                                                const std::optional<Tensor>& output, const Tensor& weight,
                                                const Tensor& /*bias*/, const Tensor& mean,
                                                const Tensor& variance, double epsilon, bool /*activated*/) {
  const auto type = number_of(input);
  const Tensor below = output ? at::threshold_backward(gradient, *output, 0) : gradient;
  const auto [plain, centred, of_weight, of_bias] =
      at::batch_norm_backward_reduce(below, input, mean.to(type), rstd_of(variance, epsilon).to(type),
                                     weight.to(type), /*input_g=*/false, /*weight_g=*/true, /*bias_g=*/true);
  return {output ? below : Tensor(), at::stack({of_weight, of_bias}).to(at::kDouble)};
}

Tensor differentiate_on_gpu(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                            const Tensor& /*bias*/, const Tensor& mean, const Tensor& variance,
                            const std::optional<Tensor>& means, double epsilon, bool /*gated*/) {
  const auto type = number_of(input);
  const Tensor rstd = rstd_of(variance, epsilon);
  const Tensor none = at::zeros_like(mean);
  const Tensor of_distances = means ? (*means)[0] / rstd : none, of_gradients = means ? (*means)[1] : none;
  // The kernel divides by a count, and these are means already.
  const Tensor one = at::ones({1}, input.options().dtype(at::kInt));
  return at::batch_norm_backward_elemt(gradient, input, mean.to(type), rstd.to(type), weight.to(type),
                                       of_gradients.to(type), of_distances.to(type), one);
}

}  // namespace larmor::batch_norms
