// Of a whole split: figures by modality.
#include <vector>

#include "larmor/base/text.h"
#include "larmor/judge/bootstrap.h"

#include "workloads/fast_ddpm/denoiser/brain_figures.h"
#include "workloads/fast_ddpm/denoiser/denoiser_task.h"
#include "workloads/fast_ddpm/denoiser/linear_fit.h"

namespace larmor::fast_ddpm {
namespace {

constexpr const char* by_modality = "modality";

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::vector<double> values_of(const CaseValues& cases, const std::string& name) {
  std::vector<double> values;
  const auto found = cases.find(name);
  if (found == cases.end()) return values;
  for (const auto& [example, value] : found->second) values.push_back(value);
  return values;
}

}  // namespace

DeclaredFigures DenoiserTask::figures() const {
  using enum Better;
  return {
      {.name = "loss", .better = lower, .meaning = "error of the network at drawn times"},
      {.name = "psnr_brain",
       .better = higher,
       .unit = "dB",
       .meaning = "peak signal to noise inside the brain",
       .baselines = {{.name = linear_fit_figure}}},
      {.name = linear_fit_figure,
       .better = higher,
       .unit = "dB",
       .meaning = "the same of the best linear combination of the other modalities"},
      {.name = "mae_brain", .better = lower, .meaning = "mean absolute error inside the brain, of 1"},
      {.name = "psnr", .better = higher, .unit = "dB", .meaning = "peak signal to noise of the volume"},
      {.name = "ssim", .better = higher, .meaning = "structural similarity of the volume"},
      {.name = "psnr_slices", .better = higher, .unit = "dB", .meaning = "mean over slices that show brain"},
      {.name = "ssim_slices", .better = higher, .meaning = "mean over slices that show brain"},
  };
}

void DenoiserTask::summarize(const CaseValues& cases, const CaseValues& /*reference*/, Metrics& metrics) {
  if (metrics.depth() != ValidationDepth::full) return;
  for (const std::string name :
       {"psnr", "ssim", "mae_brain", "psnr_brain", "psnr_slices", "ssim_slices", linear_fit_figure}) {
    const auto found = cases.find(name);
    if (found == cases.end()) continue;
    SplitMetric metric = mean_over_cases(metrics, found->second);
    metric.parts_by = by_modality;
    for (const std::string& modality : config_.modalities) {
      const auto of_modality = values_of(cases, text(name, " ", modality));
      if (!of_modality.empty()) metric.parts.emplace_back(modality, mean_of(of_modality));
    }
    metrics.figure(name, metric);
  }
}

}  // namespace larmor::fast_ddpm
