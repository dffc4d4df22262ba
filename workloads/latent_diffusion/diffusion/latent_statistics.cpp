#include "workloads/latent_diffusion/diffusion/latent_statistics.h"

#include <cmath>
#include <optional>

#include <ATen/ATen.h>

#include "larmor/base/text.h"

namespace larmor::latent_diffusion {

namespace {

struct ChannelStatistics {
  double mean = 0, deviation = 0;
};

std::optional<ChannelStatistics> statistics_of(const CaseValues& cases, const std::string& kind,
                                               int64_t channel) {
  const auto mean = mean_of(cases, text(kind, "_mean_", channel));
  const auto square = mean_of(cases, text(kind, "_square_", channel));
  if (!mean || !square) return std::nullopt;
  return ChannelStatistics{.mean = *mean, .deviation = std::sqrt(*square - *mean * *mean)};
}

}  // namespace

std::optional<double> mean_of(const CaseValues& cases, const std::string& name) {
  const auto found = cases.find(name);
  if (found == cases.end() || found->second.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& entry : found->second) sum += entry.second;
  return sum / static_cast<double>(found->second.size());
}

void note_latent(const std::string& kind, int64_t example, const at::Tensor& latent, Metrics& metrics) {
  const at::Tensor values = latent.to(at::kDouble).flatten(1);
  const at::Tensor means = values.mean(1).cpu(), squares = values.square().mean(1).cpu();
  for (int64_t channel = 0; channel < values.size(0); ++channel) {
    metrics.note(text(kind, "_mean_", channel), example, means[channel].item<double>());
    metrics.note(text(kind, "_square_", channel), example, squares[channel].item<double>());
  }
}

void report_latent_errors(const CaseValues& cases, Metrics& metrics) {
  double mean_errors = 0, deviation_errors = 0;
  int64_t channels = 0;
  for (;; ++channels) {
    const auto truth = statistics_of(cases, "true", channels);
    const auto invented = statistics_of(cases, "invented", channels);
    if (!truth || !invented) break;
    mean_errors += std::abs(invented->mean - truth->mean) / truth->deviation;
    deviation_errors += std::abs(invented->deviation / truth->deviation - 1);
  }
  if (channels == 0) return;
  metrics.figure("latent_mean_error", {.value = mean_errors / static_cast<double>(channels)});
  metrics.figure("latent_std_error", {.value = deviation_errors / static_cast<double>(channels)});
}

}  // namespace larmor::latent_diffusion
