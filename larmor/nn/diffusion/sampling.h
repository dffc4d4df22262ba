// The one loop of sampling: noise is drawn, a network is asked at each step, and an image is left.
#pragma once

#include <functional>

#include <ATen/core/Tensor.h>

#include "larmor/nn/diffusion/sampler.h"

namespace larmor::nn {

/// What a network gives for x [N, …] at times [N] (float64, placed like x): it brings its condition along,
/// and cuts x into windows where it is too large for one pass.
using DenoisingFunction = std::function<at::Tensor(const at::Tensor& x, const at::Tensor& times)>;

/// An image shaped, typed and placed like `like` [N, …]. All noise is drawn for the examples of this thread's
/// DrawScope: row n is the same whichever batch or rank it is computed in. `progress` gets the share done
/// after each step, and whoever watches, a heartbeat. Requires: a DrawScope with N examples
at::Tensor sample(Sampler sampler, const at::Tensor& like, const DenoisingFunction& denoise,
                  const std::function<void(double share)>& progress = {});

/// The mean of `count` such images, each from noise of its own; the first one is sample()'s. Nearer to the
/// truth than any of them, and smoother. Requires: count >= 1
at::Tensor mean_of_samples(int64_t count, const Sampler& sampler, const at::Tensor& like,
                           const DenoisingFunction& denoise,
                           const std::function<void(double share)>& progress = {});

}  // namespace larmor::nn
