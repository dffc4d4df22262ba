// Batch normalisation, with what often stands behind it: a sum with another tensor, and ReLU. Operators of
// libtorch's dispatcher for CPUs, GPUs and the meta device (larmor::batch_norm_moments,
// larmor::batch_norm_remember, larmor::batch_norm_relu and two for backward), and their gradient. Results and
// gradients lie in memory as the input does, channels first or last, and have its type; moments are float64,
// and on CPUs float32 is computed in it. Backward keeps the input, the weights and the moments, and the
// output where something was added before ReLU. On CPUs the bits depend neither on the number of threads nor
// on the CPU; a GPU has the same ones in every run.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor {

class RankSum;

/// Mean and variance of each channel's values, in float64; without gradient.
struct BatchMoments {
  at::Tensor mean, variance;  // [C]; the biased one, 0 where there are no values
  at::Tensor count;           // [1]: values of a channel
};

/// input [N, C, …] of any floating type and layout. `ranks`: null for the values of this rank alone, or
/// collective, and of all ranks' values. Ranks may have different numbers of rows, also none.
BatchMoments batch_moments(const at::Tensor& input, RankSum* ranks);

/// Moves the running moments [C], of any floating type, towards these: running = (1 - momentum) * running +
/// momentum * own, the variance by the unbiased one. One kernel on a GPU.
void remember_moments(const BatchMoments& moments, double momentum, const at::Tensor& running_mean,
                      const at::Tensor& running_variance);

/// What stands around a normalisation. Weight and bias [C], also in fewer bits than the moments have.
struct BatchNormParts {
  at::Tensor weight, bias;
  at::Tensor residual;            // as the input, added behind the norm; or undefined
  bool activated = false;         // ReLU of the sum; what is not a number stays so
  bool constant_moments = false;  // they are not those of this input, and no gradient goes through them
  double epsilon = 1e-5;
};

/// (input - mean) / sqrt(variance + epsilon) * weight + bias, and what stands behind it. With `ranks`, those
/// of batch_moments(), backward is collective unless the input needs no gradient, and the gradients of weight
/// and bias are this rank's part; they have to live until then. Differentiable any number of times on a rank
/// of its own; derivatives beyond the first are computed by libtorch's plain operators.
at::Tensor batch_norm_relu(const at::Tensor& input, const BatchMoments& moments, const BatchNormParts& parts,
                           RankSum* ranks = nullptr);

}  // namespace larmor
