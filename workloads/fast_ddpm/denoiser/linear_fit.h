// The baseline that a model has to beat: the best linear combination of the given modalities inside the
// brain, fitted on training cases. All that is kept of these are sums of products of their channels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/task/metrics.h"

namespace larmor::fast_ddpm {

inline constexpr const char* linear_fit_figure = "psnr_brain_linear_fit";

/// [C + 1, C + 1] float64: sums over the brain's voxels of the products of channels, the last of which is 1
/// everywhere. image [C, D, H, W], brain [D, H, W].
at::Tensor channel_products(const at::Tensor& image, const at::Tensor& brain);

/// Notes the products of a reference case.
void note_products(const at::Tensor& products, int64_t example, Metrics& metrics);
/// The sum over all cases of what was noted; nothing where nothing was.
std::optional<at::Tensor> noted_products(const CaseValues& cases, int64_t channels);

/// [C + 1] float64: the factors of the other channels and of 1 that fit channel `target` best, and 0 for
/// itself. `products` are sums over all cases of the fit.
at::Tensor linear_fit(const at::Tensor& products, int64_t target);
/// What such a fit makes of image [C, D, H, W], within [-1, 1] as every image is: [D, H, W] float64.
at::Tensor fitted(const at::Tensor& image, const at::Tensor& fit);

}  // namespace larmor::fast_ddpm
