#include "workloads/latent_diffusion/diffusion/filtered_input.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include <ATen/ATen.h>

#include "larmor/base/text.h"
#include "larmor/judge/bootstrap.h"
#include "larmor/nn/metrics/image_metrics.h"

#include "workloads/latent_diffusion/diffusion/latent_statistics.h"

namespace larmor::latent_diffusion {

namespace {

constexpr std::array widths{0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0};  // in voxels
constexpr const char* input_name = "input";

std::string name_of(std::size_t width) { return text("filtered_", width); }

/// [size, size]: row i holds the weights of all voxels for voxel i.
at::Tensor filter_matrix(int64_t size, double voxels, c10::Device device) {
  const at::Tensor place = at::arange(size, at::TensorOptions().dtype(at::kDouble).device(device));
  const at::Tensor weights = at::exp(at::square((place.unsqueeze(0) - place.unsqueeze(1)) / voxels) / -2);
  return weights / weights.sum(1, /*keepdim=*/true);
}

}  // namespace

at::Tensor gaussian_filtered(const at::Tensor& image, double voxels) {
  at::Tensor filtered = image.to(at::kDouble);
  for (int64_t axis = 1; axis < image.dim(); ++axis) {
    const at::Tensor filter = filter_matrix(image.size(axis), voxels, image.device());
    filtered = at::matmul(filtered.movedim(axis, -1), filter.t()).movedim(-1, axis);
  }
  return filtered;
}

void note_filtered(int64_t example, const at::Tensor& given, const at::Tensor& truth, Metrics& metrics) {
  if (given.sizes() != truth.sizes()) return;
  const auto note = [&](const std::string& name, const at::Tensor& image) {
    const at::Tensor psnr = nn::psnr(image.unsqueeze(0), truth.unsqueeze(0), /*max_value=*/1);
    metrics.note(name, example, psnr.item<double>());
  };
  note(input_name, given);
  for (std::size_t i = 0; i < widths.size(); ++i) note(name_of(i), gaussian_filtered(given, widths[i]));
}

void report_filtered(const CaseValues& cases, const CaseValues& training, Metrics& metrics) {
  const auto report = [&](const std::string& figure, const std::string& noted) {
    const auto found = cases.find(noted);
    if (found != cases.end()) metrics.figure(figure, mean_over_cases(metrics, found->second));
    return found != cases.end();
  };
  report("psnr_input", input_name);
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (!mean_of(training, name_of(i))) return;
    if (!best || *mean_of(training, name_of(i)) > *mean_of(training, name_of(*best))) best = i;
  }
  if (report("psnr_gaussian", name_of(*best)))
    metrics.figure("gaussian_voxels", {.value = widths[*best], .no_interval = "chosen on training cases"});
}

}  // namespace larmor::latent_diffusion
