// Of a whole split: figures by modality, beside those of the linear fit.
#include <cmath>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

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
       .baselines = {{.name = "psnr_brain_linear_fit"}}},
      {.name = "psnr_brain_linear_fit",
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

void DenoiserTask::summarize(const CaseValues& cases, const CaseValues& reference, Metrics& metrics) {
  if (metrics.depth() != ValidationDepth::full) return;
  for (const std::string name : {"psnr", "ssim", "mae_brain", "psnr_brain", "psnr_slices", "ssim_slices"}) {
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

  const auto of_training = noted_products(reference, config_.channels()),
             of_cases = noted_products(cases, config_.channels());
  if (of_training.empty() || of_cases.empty()) return;
  std::vector<at::Tensor> products;
  for (const NotedProducts& one : of_training) products.push_back(one.products);
  const at::Tensor together = at::stack(products).sum(0);
  std::vector<std::pair<int64_t, double>> per_case;
  for (const NotedProducts& one : of_cases) per_case.emplace_back(one.example, 0.0);
  std::vector<std::pair<std::string, double>> parts;
  for (int64_t target = 0; target < config_.channels(); ++target) {
    const at::Tensor fit = linear_fit(together, target);
    std::vector<double> of_modality;
    for (std::size_t i = 0; i < of_cases.size(); ++i) {
      // Voxels lie in [-1, 1], and figures are those of [0, 1].
      of_modality.push_back(psnr_of_error(error_of_fit(of_cases[i].products, fit) / 4));
      per_case[i].second += of_modality.back() / static_cast<double>(config_.channels());
    }
    parts.emplace_back(config_.modalities[static_cast<std::size_t>(target)], mean_of(of_modality));
  }
  SplitMetric metric = mean_over_cases(metrics, per_case);
  metric.parts_by = by_modality;
  metric.parts = std::move(parts);
  metrics.figure("psnr_brain_linear_fit", metric);
}

}  // namespace larmor::fast_ddpm
