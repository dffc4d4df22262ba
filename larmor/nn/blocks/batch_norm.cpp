#include "larmor/nn/blocks/batch_norm.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "larmor/base/error.h"
#include "larmor/device/rank_sum.h"
#include "larmor/kernels/norms/batch_norm_relu.h"

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

at::Tensor BatchNorm::forward_onto(const at::Tensor& input, const at::Tensor& residual) {
  RankSum* const ranks = is_training() ? ranks_together() : nullptr;
  if (is_training() && ranks == nullptr && input.numel() == input.size(1))
    fail(Exit::usage, "batch norm of one image that has come down to a single voxel has no variance",
         "use a larger micro-batch, larger images, or model.norm=group");
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
  remember_moments(moments, batch_norm_momentum, running_mean_, running_var_);
  const at::NoGradGuard no_gradient;
  num_batches_tracked_.add_(1);
}

}  // namespace larmor::nn
