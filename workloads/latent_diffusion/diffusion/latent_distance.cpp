#include "workloads/latent_diffusion/diffusion/latent_distance.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/text.h"

namespace larmor::latent_diffusion {

namespace {

constexpr int64_t most_numbers = 1024;

std::string name_of_place(int64_t place) { return text("place_", place); }

/// [C, d, h, w] to [n], n no more than most_numbers unless there are as many channels.
at::Tensor described(const at::Tensor& latent) {
  at::Tensor values = latent.to(at::kCPU, at::kDouble);
  const auto sizes = latent.sizes().slice(1);
  const int64_t longest = *std::max_element(sizes.begin(), sizes.end());
  for (int64_t edge = 2; values.numel() > most_numbers && edge <= longest; ++edge) {
    std::vector<int64_t> kernel;
    for (const int64_t size : sizes) kernel.push_back(std::min(edge, size));
    values =
        at::avg_pool3d(latent.to(at::kCPU, at::kDouble), kernel, kernel, /*padding=*/0, /*ceil_mode=*/true,
                       /*count_include_pad=*/false);
  }
  return values.flatten();
}

/// [cases, numbers]; undefined where nothing was noted.
at::Tensor places_in(const CaseValues& noted) {
  std::vector<at::Tensor> columns;
  for (int64_t place = 0;; ++place) {
    const auto found = noted.find(name_of_place(place));
    if (found == noted.end() || found->second.empty()) break;
    std::vector<double> column;
    for (const auto& entry : found->second) column.push_back(entry.second);
    columns.push_back(at::tensor(column, at::kDouble));
  }
  return columns.empty() ? at::Tensor() : at::stack(columns, 1);
}

/// By differences and not by products, which would leave a copy at a distance.
at::Tensor distances(const at::Tensor& from, const at::Tensor& to) {
  constexpr int64_t by_differences = 2;
  return at::cdist(from, to, /*p=*/2, by_differences);
}

/// [n]: how far the third nearest other one is.
at::Tensor radii_of(const at::Tensor& places) {
  const int64_t neighbour = std::min<int64_t>(3, places.size(0) - 1);
  // The nearest is the place itself, or a copy of it.
  return std::get<0>(distances(places, places).kthvalue(neighbour + 1, 1));
}

/// The share of `judged` that lie within a radius of one of `places`.
double share_among(const at::Tensor& judged, const at::Tensor& places) {
  const at::Tensor is_within = distances(judged, places) <= radii_of(places).unsqueeze(0);
  return is_within.any(1).to(at::kDouble).mean().item<double>();
}

}  // namespace

void note_place(int64_t example, const at::Tensor& latent, Metrics& metrics) {
  const at::Tensor values = described(latent);
  for (int64_t place = 0; place < values.numel(); ++place)
    metrics.note(name_of_place(place), example, values[place].item<double>());
}

std::vector<Neighbour> nearest_in_training(const CaseValues& invented, const CaseValues& training) {
  const at::Tensor made = places_in(invented), trained = places_in(training);
  if (!made.defined() || !trained.defined() || trained.size(0) < 2 || made.size(1) != trained.size(1))
    return {};
  const at::Tensor between = distances(trained, trained);
  between.fill_diagonal_(std::numeric_limits<double>::infinity());
  const double least = between.min().item<double>();
  const auto [distance, nearest] = distances(made, trained).min(1);
  const auto &of_made = invented.at(name_of_place(0)), &of_training = training.at(name_of_place(0));
  std::vector<Neighbour> pairs;
  for (int64_t row = 0; row < made.size(0); ++row) {
    const auto neighbour = static_cast<std::size_t>(nearest[row].item<int64_t>());
    pairs.push_back({.invented = of_made[static_cast<std::size_t>(row)].first,
                     .training = of_training[neighbour].first,
                     .ratio = least > 0 ? distance[row].item<double>() / least
                                        : std::numeric_limits<double>::quiet_NaN()});
  }
  return pairs;
}

void report_nearest(const CaseValues& invented, const CaseValues& training, Metrics& metrics) {
  const auto pairs = nearest_in_training(invented, training);
  if (pairs.empty()) return;
  const double ratio = std::ranges::min(pairs, {}, &Neighbour::ratio).ratio;
  // Two equal training cases leave nothing to compare with.
  if (std::isfinite(ratio))
    metrics.figure("nearest_training_latent",
                   {.value = ratio, .no_interval = "of the one case that is nearest to training"});
}

void report_coverage(const CaseValues& invented, const CaseValues& training, Metrics& metrics) {
  const at::Tensor made = places_in(invented), trained = places_in(training);
  if (!made.defined() || !trained.defined() || made.size(1) != trained.size(1)) return;
  if (made.size(0) < 2 || trained.size(0) < 2) return;
  constexpr const char* reason = "a case that is drawn twice would be its own neighbour";
  metrics.figure("latent_precision", {.value = share_among(made, trained), .no_interval = reason});
  metrics.figure("latent_recall", {.value = share_among(trained, made), .no_interval = reason});
}

}  // namespace larmor::latent_diffusion
