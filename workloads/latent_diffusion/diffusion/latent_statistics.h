// How far invented latents are from true ones: means and standard deviations of each channel, over a split.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

#include "larmor/task/metrics.h"

namespace larmor::latent_diffusion {

/// The mean over the cases of which something was noted under this name.
std::optional<double> mean_of(const CaseValues& cases, const std::string& name);

/// Notes the mean and the mean square of each channel of a case's latent [C, d, h, w], under `kind`: "true"
/// or "invented".
void note_latent(const std::string& kind, int64_t example, const at::Tensor& latent, Metrics& metrics);

/// The figures latent_mean_error, |difference of means| / true deviation, and latent_std_error, |ratio of
/// deviations - 1|, each the mean over channels. Nothing where nothing was noted.
void report_latent_errors(const CaseValues& cases, Metrics& metrics);

}  // namespace larmor::latent_diffusion
