// What latents are multiplied by, so that their standard deviation is one as that of the noise.
#pragma once

#include <cstdint>
#include <functional>

#include <ATen/core/Tensor.h>

namespace larmor::latent_diffusion {

/// Standard deviation (unbiased) of latents that come in parts, on several ranks.
class LatentSpread {
 public:
  /// `groups`: 1 for all of them together, or the number of channels.
  explicit LatentSpread(int64_t groups);
  /// latents [N, C, d, h, w]; adds in float64.
  void add(const at::Tensor& latents);
  /// 1 / deviation, [1, groups, 1, 1, 1] float64 on the CPU, of all that was added on all ranks. Throws Error
  /// (data) where all latents of a group are alike. Collective, by `sum_over_ranks`.
  at::Tensor scale(const std::function<at::Tensor(const at::Tensor&)>& sum_over_ranks) const;

 private:
  int64_t groups_;
  at::Tensor sums_;  // [3, groups]: how many, their sum, that of their squares
};

}  // namespace larmor::latent_diffusion
