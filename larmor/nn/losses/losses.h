// Losses. All return a scalar tensor with a gradient unless said otherwise.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor::nn {

/// Half the sum over all elements of mean^2 + sigma^2 - ln sigma^2 - 1, divided by the batch size.
/// Stable: sigma is kept >= 1e-8, ln(sigma^2 + 1e-8), and each sample's term is clamped to [0, `most`].
/// `most` <= 0 gives the plain formula of MONAI's tutorial.
at::Tensor kl_divergence(const at::Tensor& mean, const at::Tensor& sigma, double most);

/// Least squares on LeakyReLU(0.05)(logits) against 1 (real) or 0 (fake).
/// Source: monai.losses.PatchAdversarialLoss(criterion="least_squares").
at::Tensor adversarial_least_squares(const at::Tensor& logits, bool target_is_real);

}  // namespace larmor::nn
