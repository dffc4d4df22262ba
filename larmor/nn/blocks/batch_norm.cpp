#include "larmor/nn/blocks/batch_norm.h"

#include <bit>
#include <cassert>
#include <tuple>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/batch_norm_update_stats.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include "larmor/base/error.h"
#include "larmor/device/rank_sum.h"

namespace larmor::nn {
namespace {

constexpr double batch_norm_epsilon = 1e-5;
constexpr double batch_norm_momentum = 0.1;

/// Statistics and coefficients of inputs below float32 are float32.
at::ScalarType statistics_type(const at::Tensor& input) {
  return input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

/// Of the rows of all ranks, in float64.
struct BatchMoments {
  at::Tensor mean, variance;  // [C]; the biased one
  at::Tensor count;           // [1]: values of a channel
};

/// Of each channel's values on this rank the sum, the sum of squares, and how many: [2C + 1], in float64.
at::Tensor sums_of_values(const at::Tensor& input) {
  const int64_t channels = input.size(1), count = input.numel() / channels;
  const at::Tensor sums = at::zeros({2 * channels + 1}, input.options().dtype(at::kDouble));
  if (count == 0) return sums;
  // Libtorch's pass over the values is that of its own batch norm: fast, and exact around the mean. It wants
  // statistics to update.
  const at::Tensor unused = at::zeros({channels}, input.options().dtype(statistics_type(input)));
  const auto moments = at::batch_norm_update_stats(input, unused, unused.clone(), /*momentum=*/0);
  const at::Tensor mean = std::get<0>(moments).to(at::kDouble);
  const at::Tensor variance = std::get<1>(moments).to(at::kDouble);
  sums.narrow(0, 0, channels).copy_(mean * count);
  sums.narrow(0, channels, channels).copy_((variance + mean.square()) * count);
  sums.narrow(0, 2 * channels, 1).fill_(count);
  return sums;
}

/// Collective. Float64 has room for squares: a mean of thousand deviations costs the variance six of its
/// sixteen digits, where float32 has seven of its own.
BatchMoments moments_over(RankSum& ranks, const at::Tensor& input) {
  const at::Tensor sums = sums_of_values(input);
  ranks.add_up(sums);
  const int64_t channels = input.size(1);
  const at::Tensor count = sums.narrow(0, 2 * channels, 1);
  const at::Tensor mean = sums.narrow(0, 0, channels) / count;
  const at::Tensor squares = sums.narrow(0, channels, channels) / count;
  return {.mean = mean, .variance = (squares - mean.square()).clamp_min(0), .count = count};
}

/// (input - mean) / deviation * factor + offset, with channels' values [C] that are given.
at::Tensor normalise(const at::Tensor& input, const at::Tensor& factor, const at::Tensor& offset,
                     const at::Tensor& mean, const at::Tensor& variance) {
  if (input.numel() == 0) return at::empty_like(input);
  const auto type = statistics_type(input);
  return std::get<0>(at::native_batch_norm(input, factor.to(type), offset.to(type), mean.to(type),
                                           variance.to(type), /*training=*/false, /*momentum=*/0,
                                           batch_norm_epsilon));
}

struct BatchNormOverRanks : torch::autograd::Function<BatchNormOverRanks> {
  using Context = torch::autograd::AutogradContext;
  using Variables = torch::autograd::variable_list;

  static at::Tensor forward(Context* context, const at::Tensor& input, const at::Tensor& weight,
                            const at::Tensor& bias, const BatchMoments& moments, RankSum* ranks) {
    context->save_for_backward({input, weight, moments.mean, moments.variance, moments.count});
    context->saved_data["ranks"] = std::bit_cast<int64_t>(ranks);
    return normalise(input, weight, bias, moments.mean, moments.variance);
  }

  static Variables backward(Context* context, const Variables& gradients) {
    assert(!at::GradMode::is_enabled());  // the sums of ranks have no second derivative
    const auto saved = context->get_saved_variables();
    const at::Tensor &input = saved[0], &weight = saved[1], &mean = saved[2], &variance = saved[3],
                     &count = saved[4];
    const auto type = statistics_type(input);
    at::Tensor of_input, of_weight = at::zeros_like(weight, type), of_bias = at::zeros_like(weight, type);
    const at::Tensor deviation = (variance + batch_norm_epsilon).sqrt();
    if (input.numel() > 0) {
      // As if mean and variance were constants; what they add follows.
      const at::Tensor gradient = gradients[0].contiguous(input.suggest_memory_format());
      std::tie(of_input, of_weight, of_bias) = at::native_batch_norm_backward(
          gradient, input, weight.to(type), mean.to(type), variance.to(type), mean.to(type),
          deviation.reciprocal().to(type), /*train=*/false, batch_norm_epsilon, {true, true, true});
    } else {
      of_input = at::empty_like(input);
    }
    if (context->needs_input_grad(0)) {
      const at::Tensor sums = at::cat({of_weight, of_bias}).to(at::kDouble);
      std::bit_cast<RankSum*>(context->saved_data["ranks"].toInt())->add_up(sums);
      const at::Tensor factors = (sums / count).view({2, -1}) * (weight / deviation).neg();
      of_input.add_(normalise(input, factors[0], factors[1], mean, variance));
    }
    return {of_input, of_weight, of_bias, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

BatchNorm::BatchNorm(int64_t channels, c10::Device device)
    : weight_(register_parameter("weight", at::ones(channels, device))),
      bias_(register_parameter("bias", at::zeros(channels, device))),
      running_mean_(register_buffer("running_mean", at::zeros(channels, device))),
      running_var_(register_buffer("running_var", at::ones(channels, device))),
      num_batches_tracked_(register_buffer("num_batches_tracked",
                                           at::zeros({}, at::TensorOptions(at::kLong).device(device)))) {}

at::Tensor BatchNorm::forward(const at::Tensor& input) {
  RankSum* const ranks = is_training() ? rank_sum() : nullptr;
  if (ranks != nullptr && ranks->ranks() > 1) return forward_over(*ranks, input);
  if (is_training() && input.numel() == input.size(1))
    fail(Exit::usage, "batch norm of one image that has come down to a single voxel has no variance",
         "use a larger micro-batch, larger images, or model.norm=group");
  if (is_training()) num_batches_tracked_.add_(1);
  // Ranks that share a network's weights out may hold these two in half precision, and the kernels take
  // coefficients of the statistics' type alone.
  const auto type = statistics_type(input);
  return at::batch_norm(input, weight_.to(type), bias_.to(type), running_mean_, running_var_, is_training(),
                        batch_norm_momentum, batch_norm_epsilon, /*cudnn_enabled=*/true);
}

at::Tensor BatchNorm::forward_over(RankSum& ranks, const at::Tensor& input) {
  BatchMoments moments;
  {
    const at::NoGradGuard no_gradient;
    moments = moments_over(ranks, input);
    const at::Tensor unbiased = moments.variance * (moments.count / (moments.count - 1).clamp_min(1));
    running_mean_.mul_(1 - batch_norm_momentum).add_(moments.mean, batch_norm_momentum);
    running_var_.mul_(1 - batch_norm_momentum).add_(unbiased, batch_norm_momentum);
    num_batches_tracked_.add_(1);
  }
  return BatchNormOverRanks::apply(input, weight_, bias_, moments, &ranks);
}

}  // namespace larmor::nn
