// The baseline that a model has to beat: the best linear combination of the given modalities inside the
// brain, fitted on training cases. All that is kept of a case are sums of products of its channels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/task/metrics.h"

namespace larmor::fast_ddpm {

/// [C + 1, C + 1] float64: sums over the brain's voxels of the products of channels, the last of which is 1
/// everywhere. image [C, D, H, W], brain [D, H, W].
at::Tensor channel_products(const at::Tensor& image, const at::Tensor& brain);

/// Notes the products for Task::summarize().
void note_products(const at::Tensor& products, int64_t example, Metrics& metrics);
struct NotedProducts {
  int64_t example;
  at::Tensor products;
};
/// What was noted of each case.
std::vector<NotedProducts> noted_products(const CaseValues& cases, int64_t channels);

/// [C + 1] float64: the factors of the other channels and of 1 that fit channel `target` best, and -1 for
/// itself. `products` are sums over all cases of the fit.
at::Tensor linear_fit(const at::Tensor& products, int64_t target);
/// Mean squared error of such a fit over the voxels of `products`.
double error_of_fit(const at::Tensor& products, const at::Tensor& fit);

}  // namespace larmor::fast_ddpm
