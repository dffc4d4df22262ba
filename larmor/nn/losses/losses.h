// Losses. All return a scalar tensor with a gradient unless said otherwise.
#pragma once

#include <ATen/core/Tensor.h>

namespace larmor::nn {

/// [N]: half the sum over a sample's elements of mean^2 + sigma^2 - ln sigma^2 - 1. Stable: sigma is kept
/// >= 1e-8, ln(sigma^2 + 1e-8).
at::Tensor kl_of_samples(const at::Tensor& mean, const at::Tensor& sigma);

/// Their mean, each clamped to [0, `most`].
/// `most` <= 0 gives the plain formula of MONAI's tutorial.
at::Tensor kl_divergence(const at::Tensor& mean, const at::Tensor& sigma, double most);

/// Least squares on LeakyReLU(0.05)(logits) against 1 (real) or 0 (fake).
/// Source: monai.losses.PatchAdversarialLoss(criterion="least_squares").
at::Tensor adversarial_least_squares(const at::Tensor& logits, bool target_is_real);

}  // namespace larmor::nn
