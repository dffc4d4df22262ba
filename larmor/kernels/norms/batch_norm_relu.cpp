#include "larmor/kernels/norms/batch_norm_relu.h"

#include <bit>
#include <optional>
#include <tuple>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include "larmor/base/ensure.h"
#include "larmor/device/rank_sum.h"
#include "larmor/kernels/norms/batch_norm_operators.h"
#include "larmor/kernels/norms/batch_norm_relu_plain.h"
#include "larmor/kernels/operator.h"

namespace larmor {
namespace batch_norms {
namespace {

using at::Tensor;
using MomentsCall = Operator<"batch_norm_moments", MomentsOperator>;
using RememberCall = Operator<"batch_norm_remember", RememberOperator>;
using ForwardCall = Operator<"batch_norm_relu", ForwardOperator>;
using SumsCall = Operator<"batch_norm_relu_sums", SumsOperator>;
using BackwardCall = Operator<"batch_norm_relu_backward", BackwardOperator>;

const MomentsCall::Registration moments("(Tensor input) -> (Tensor, Tensor)", {.cpu = moments_on_cpu,
                                                                               .cuda = moments_on_gpu,
                                                                               .meta = moments_on_meta});
const RememberCall::Registration remember(
    "(Tensor mean, Tensor variance, Tensor count, Tensor(a!) running_mean, Tensor(b!) running_variance,"
    " float momentum) -> ()",
    {.cpu = remember_on_cpu, .cuda = remember_on_gpu, .meta = remember_on_meta});
const ForwardCall::Registration forward_operator(
    "(Tensor input, Tensor? residual, Tensor weight, Tensor bias, Tensor mean, Tensor variance, float"
    " epsilon, bool activated) -> Tensor",
    {.cpu = normalise_on_cpu, .cuda = normalise_on_gpu, .meta = normalise_on_meta});
const SumsCall::Registration sums_operator(
    "(Tensor gradient, Tensor input, Tensor? output, Tensor weight, Tensor bias, Tensor mean, Tensor"
    " variance, float epsilon, bool activated) -> (Tensor, Tensor)",
    {.cpu = sum_gradients_on_cpu, .cuda = sum_gradients_on_gpu, .meta = sum_gradients_on_meta});
const BackwardCall::Registration backward_operator(
    "(Tensor gradient, Tensor input, Tensor weight, Tensor bias, Tensor mean, Tensor variance, Tensor? means,"
    " float epsilon, bool gated) -> Tensor",
    {.cpu = differentiate_on_cpu, .cuda = differentiate_on_gpu, .meta = differentiate_on_meta});

/// What backward knows besides tensors.
struct Setting {
  bool activated, constant_moments, adds;
  double epsilon;
  RankSum* ranks;  // null for a rank on its own
};

struct DifferentiableBatchNorm : GradientNode<DifferentiableBatchNorm> {
  static Tensor forward(Context* context, const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Optional& residual, const BatchMoments& moments, const Setting& setting) {
    const Tensor output = ForwardCall::call_below_autograd(
        input, residual, weight, bias, moments.mean, moments.variance, setting.epsilon, setting.activated);
    // Where nothing was added, it is computed again where ReLU let values through.
    const bool keeps_output = setting.activated && setting.adds;
    // As a tensor of its own: a block that is computed again may stop while this node saves its tensors, and
    // the output itself would hold the node that holds it for ever.
    context->save_for_backward({input, weight, bias, moments.mean, moments.variance, moments.count,
                                keeps_output ? output.detach() : Tensor()});
    context->saved_data["activated"] = setting.activated;
    context->saved_data["constant"] = setting.constant_moments;
    context->saved_data["adds"] = setting.adds;
    context->saved_data["epsilon"] = setting.epsilon;
    context->saved_data["ranks"] = std::bit_cast<int64_t>(setting.ranks);
    return output;
  }

  static Setting setting_of(Context& context) {
    return {.activated = context.saved_data["activated"].toBool(),
            .constant_moments = context.saved_data["constant"].toBool(),
            .adds = context.saved_data["adds"].toBool(),
            .epsilon = context.saved_data["epsilon"].toDouble(),
            .ranks = std::bit_cast<RankSum*>(context.saved_data["ranks"].toInt())};
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const Setting setting = setting_of(*context);
    const Variables saved = context->get_saved_variables();
    const Tensor &input = saved[0], &weight = saved[1], &bias = saved[2], &mean = saved[3],
                 &variance = saved[4];
    const Optional output = if_defined(saved[6]);
    if (at::GradMode::is_enabled()) {
      ensure(setting.ranks == nullptr);  // the sums of ranks have no second derivative
      return differentiably(saved, gradients[0], setting);
    }
    const auto [masked, sums] = SumsCall::call_below_autograd(gradients[0], input, output, weight, bias, mean,
                                                              variance, setting.epsilon, setting.activated);
    const Tensor& below = masked.defined() ? masked : gradients[0];
    Tensor of_input;
    if (context->needs_input_grad(0)) {
      Optional means;
      if (!setting.constant_moments) {
        Tensor all = sums;
        if (setting.ranks != nullptr) setting.ranks->add_up(all = sums.clone());
        means = all / saved[5];
      }
      of_input = BackwardCall::call_below_autograd(below, input, weight, bias, mean, variance, means,
                                                   setting.epsilon, setting.activated && !masked.defined());
    }
    return {of_input, sums[0], sums[1], setting.adds ? below : Tensor(), Tensor(), Tensor()};
  }

  static Variables differentiably(const Variables& saved, const Tensor& gradient, const Setting& setting) {
    const BatchMoments moments{.mean = saved[3], .variance = saved[4], .count = saved[5]};
    const BatchNormParts parts{.weight = saved[1],
                               .bias = saved[2],
                               .residual = setting.adds ? saved[0] : Tensor(),
                               .activated = setting.activated,
                               .constant_moments = setting.constant_moments,
                               .epsilon = setting.epsilon};
    const auto [of_input, of_weight, of_bias, of_residual] =
        plain_batch_norm_backward(gradient, saved[0], moments, parts, saved[6]);
    return {of_input, of_weight, of_bias, of_residual, Tensor(), Tensor()};
  }
};

}  // namespace
}  // namespace batch_norms

BatchMoments batch_moments(const at::Tensor& input, RankSum* ranks) {
  const at::NoGradGuard no_gradient;
  ensure(input.dim() >= 2);
  const int64_t channels = input.size(1), values = channels == 0 ? 0 : input.numel() / channels;
  auto [mean, variance] = batch_norms::MomentsCall::call_below_autograd(input);
  at::Tensor count = at::full({1}, values, mean.options());
  if (ranks == nullptr) return {.mean = mean, .variance = variance, .count = count};
  // Float64 has room for squares: a mean of thousand deviations costs the variance six of its sixteen digits.
  const at::Tensor sums = at::empty({2 * channels + 1}, mean.options());
  sums.narrow(0, 0, channels).copy_(mean * count);
  sums.narrow(0, channels, channels).copy_((variance + mean.square()) * count);
  sums.narrow(0, 2 * channels, 1).copy_(count);
  ranks->add_up(sums);
  count = sums.narrow(0, 2 * channels, 1);
  mean = sums.narrow(0, 0, channels) / count;
  variance = (sums.narrow(0, channels, channels) / count - mean.square()).clamp_min(0);
  return {.mean = mean, .variance = variance, .count = count};
}

void remember_moments(const BatchMoments& moments, double momentum, const at::Tensor& running_mean,
                      const at::Tensor& running_variance) {
  const at::NoGradGuard no_gradient;
  batch_norms::RememberCall::call_below_autograd(moments.mean, moments.variance, moments.count, running_mean,
                                                 running_variance, momentum);
}

at::Tensor batch_norm_relu(const at::Tensor& input, const BatchMoments& moments, const BatchNormParts& parts,
                           RankSum* ranks) {
  const bool adds = parts.residual.defined();
  // Outside of the operator, so that the residual's gradient has its type.
  const std::optional<at::Tensor> residual =
      adds ? std::optional(parts.residual.to(input.scalar_type())) : std::nullopt;
  ensure(!adds || residual->sizes() == input.sizes());
  return batch_norms::DifferentiableBatchNorm::apply(
      input, parts.weight, parts.bias, residual, moments,
      batch_norms::Setting{.activated = parts.activated,
                           .constant_moments = parts.constant_moments,
                           .adds = adds,
                           .epsilon = parts.epsilon,
                           .ranks = ranks});
}

}  // namespace larmor
