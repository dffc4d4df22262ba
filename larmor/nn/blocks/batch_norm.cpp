#include "larmor/nn/blocks/batch_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>

#include "larmor/base/error.h"
#include "larmor/device/rank_sum.h"
#include "larmor/kernels/batch_norm_relu.h"

namespace larmor::nn {
namespace {

constexpr double batch_norm_epsilon = 1e-5;
constexpr double batch_norm_momentum = 0.1;

/// The hook where it joins more than one rank.
RankSum* ranks_together() {
  RankSum* const ranks = rank_sum();
  return ranks != nullptr && ranks->ranks() > 1 ? ranks : nullptr;
}

}  // namespace

BatchNorm::BatchNorm(int64_t channels, c10::Device device, Behind behind)
    : behind_(behind),
      weight_(register_parameter("weight", at::ones(channels, device))),
      bias_(register_parameter("bias", at::zeros(channels, device))),
      running_mean_(register_buffer("running_mean", at::zeros(channels, device))),
      running_var_(register_buffer("running_var", at::ones(channels, device))),
      num_batches_tracked_(register_buffer("num_batches_tracked",
                                           at::zeros({}, at::TensorOptions(at::kLong).device(device)))) {}

/// A GPU on its own: cuDNN knows both layouts, and needs one pass less than the operators that ranks share.
/// The meta device takes the same path, so that a plan counts what a GPU keeps for backward, which is one map
/// more than a CPU.
at::Tensor BatchNorm::forward_by_libtorch(const at::Tensor& input, const at::Tensor& residual) {
  if (is_training()) num_batches_tracked_.add_(1);
  // Ranks that share a network's weights out may hold these two in half precision, and the kernels take
  // coefficients of the statistics' type alone.
  const auto type = input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor value = at::batch_norm(input, weight_.to(type), bias_.to(type), running_mean_, running_var_,
                                    is_training(), batch_norm_momentum, batch_norm_epsilon,
                                    /*cudnn_enabled=*/true);
  // In place: the norm does not need its result for backward, and ReLU needs only its own.
  if (residual.defined()) value.add_(residual);
  return behind_ == Behind::relu ? at::relu_(value) : value;
}

at::Tensor BatchNorm::forward_onto(const at::Tensor& input, const at::Tensor& residual) {
  RankSum* const ranks = is_training() ? ranks_together() : nullptr;
  if (is_training() && ranks == nullptr && input.numel() == input.size(1))
    fail(Exit::usage, "batch norm of one image that has come down to a single voxel has no variance",
         "use a larger micro-batch, larger images, or model.norm=group");
  if ((input.is_cuda() || input.is_meta()) && ranks == nullptr) return forward_by_libtorch(input, residual);
  const BatchNormParts parts{.weight = weight_,
                             .bias = bias_,
                             .residual = residual,
                             .activated = behind_ == Behind::relu,
                             .constant_moments = !is_training(),
                             .epsilon = batch_norm_epsilon};
  if (!is_training())
    return batch_norm_relu(input, {.mean = running_mean_, .variance = running_var_, .count = {}}, parts);
  const BatchMoments moments = batch_moments(input, ranks);
  remember(moments);
  return batch_norm_relu(input, moments, parts, ranks);
}

void BatchNorm::remember(const BatchMoments& moments) {
  const at::NoGradGuard no_gradient;
  const at::Tensor unbiased = moments.variance * (moments.count / (moments.count - 1).clamp_min(1));
  running_mean_.mul_(1 - batch_norm_momentum).add_(moments.mean, batch_norm_momentum);
  running_var_.mul_(1 - batch_norm_momentum).add_(unbiased, batch_norm_momentum);
  num_batches_tracked_.add_(1);
}

}  // namespace larmor::nn
