#include "workloads/latent_diffusion/diffusion/latent_statistics.h"

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/text.h"
#include "larmor/judge/bootstrap.h"

namespace larmor::latent_diffusion {

namespace {

/// Of a channel: mean and square of what is true, then of what was invented.
enum : std::size_t { true_mean, true_square, invented_mean, invented_square, noted_values };

using Means = std::span<const double>;

double deviation_of(double mean, double square) { return std::sqrt(square - mean * mean); }

double mean_error(Means of) {
  return std::abs(of[invented_mean] - of[true_mean]) / deviation_of(of[true_mean], of[true_square]);
}

double deviation_error(Means of) {
  return std::abs(deviation_of(of[invented_mean], of[invented_square]) /
                      deviation_of(of[true_mean], of[true_square]) -
                  1);
}

/// The mean over channels of an error of each.
template <class Error>
auto over_channels(const Error& error) {
  return [&error](Means means) {
    double sum = 0;
    for (std::size_t first = 0; first < means.size(); first += noted_values)
      sum += error(means.subspan(first, noted_values));
    return sum / static_cast<double>(means.size() / noted_values);
  };
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
  std::vector<std::string> names;
  const auto is_noted = [&](int64_t channel) {
    return cases.contains(text("true_mean_", channel)) && cases.contains(text("invented_mean_", channel));
  };
  for (int64_t channel = 0; is_noted(channel); ++channel) {
    for (const char* const kind : {"true", "invented"}) {
      for (const char* const moment : {"_mean_", "_square_"}) names.push_back(text(kind, moment, channel));
    }
  }
  if (names.empty()) return;
  metrics.figure("latent_mean_error", of_means(metrics, cases, names, over_channels(mean_error)));
  metrics.figure("latent_std_error", of_means(metrics, cases, names, over_channels(deviation_error)));
}

}  // namespace larmor::latent_diffusion
