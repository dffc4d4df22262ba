#include "workloads/latent_diffusion/diffusion/latent_spectra.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/text.h"

namespace larmor::latent_diffusion {

namespace {

constexpr int64_t longest_edge = 4;

std::string count_note(const std::string& kind) { return kind + "_blocks"; }
std::string sum_note(const std::string& kind, int64_t feature) { return text(kind, "_sum_", feature); }
std::string product_note(const std::string& kind, int64_t one, int64_t other) {
  return text(kind, "_product_", one, "_", other);
}

/// [edge, edge, edge]: the length of each frequency of a block.
at::Tensor frequencies(int64_t edge) {
  const at::Tensor steps = at::arange(edge, at::kDouble);
  const at::Tensor axis = at::minimum(steps, static_cast<double>(edge) - steps).square();
  return (axis.view({-1, 1, 1}) + axis.view({1, -1, 1}) + axis.view({1, 1, -1})).sqrt();
}

/// latent [C, d, h, w] to [blocks, C, edge, edge, edge].
at::Tensor blocks_of(const at::Tensor& latent, int64_t edge) {
  const at::Tensor cut = latent.unfold(1, edge, edge).unfold(2, edge, edge).unfold(3, edge, edge);
  return cut.permute({1, 2, 3, 0, 4, 5, 6}).reshape({-1, latent.size(0), edge, edge, edge});
}

/// [blocks, features]
at::Tensor features_of(const at::Tensor& latent) {
  const auto sizes = latent.sizes().slice(1);
  const int64_t edge = std::min(longest_edge, *std::min_element(sizes.begin(), sizes.end()));
  const at::Tensor blocks = blocks_of(latent.to(at::kCPU, at::kDouble), edge);
  std::vector<at::Tensor> features = {blocks.flatten(2).mean(2)};
  const at::Tensor power = at::fft_fftn(blocks, at::nullopt, {{2, 3, 4}}).abs().square();
  const at::Tensor length = frequencies(edge);
  const std::vector<double> ends = {0, 1, 2, std::sqrt(3) * longest_edge};
  for (std::size_t band = 1; band < ends.size(); ++band) {
    const at::Tensor inside = at::logical_and(length > ends[band - 1], length <= ends[band]);
    if (inside.any().item<bool>())
      features.push_back(power.index({"...", inside}).mean(2).sqrt() / static_cast<double>(length.numel()));
  }
  return at::cat(features, 1);
}

struct Gaussian {
  at::Tensor mean, covariance;  // [F], [F, F]
};

double total(const CaseValues& cases, const std::string& name) {
  double sum = 0;
  for (const auto& entry : cases.at(name)) sum += entry.second;
  return sum;
}

/// Of all blocks of a kind; nothing where there are fewer than two.
std::optional<Gaussian> gaussian_of(const CaseValues& cases, const std::string& kind) {
  if (!cases.contains(count_note(kind))) return std::nullopt;
  const double count = total(cases, count_note(kind));
  if (count < 2) return std::nullopt;
  int64_t features = 0;
  while (cases.contains(sum_note(kind, features))) ++features;
  Gaussian gaussian{.mean = at::empty({features}, at::kDouble),
                    .covariance = at::empty({features, features}, at::kDouble)};
  for (int64_t i = 0; i < features; ++i) gaussian.mean[i] = total(cases, sum_note(kind, i)) / count;
  for (int64_t i = 0; i < features; ++i) {
    for (int64_t j = i; j < features; ++j) {
      const double product = total(cases, product_note(kind, i, j)) / count;
      gaussian.covariance[i][j] = gaussian.covariance[j][i] =
          (product - (gaussian.mean[i] * gaussian.mean[j]).item<double>()) * count / (count - 1);
    }
  }
  return gaussian;
}

/// In units of `deviation` [F].
Gaussian scaled(const Gaussian& gaussian, const at::Tensor& deviation) {
  return {.mean = gaussian.mean / deviation,
          .covariance = gaussian.covariance / at::outer(deviation, deviation)};
}

/// Of a symmetric matrix without negative eigenvalues, but for rounding.
at::Tensor square_root(const at::Tensor& matrix) {
  const auto [values, vectors] = at::linalg_eigh(matrix, "L");
  return at::matmul(vectors * values.clamp_min(0).sqrt(), vectors.t());
}

double frechet(const Gaussian& one, const Gaussian& other) {
  const at::Tensor root = square_root(one.covariance);
  const at::Tensor both = square_root(at::matmul(root, at::matmul(other.covariance, root)));
  const at::Tensor distance = (one.mean - other.mean).square().sum() + one.covariance.trace() +
                              other.covariance.trace() - 2 * both.trace();
  return std::max(distance.item<double>(), 0.0);
}

}  // namespace

void note_blocks(const std::string& kind, int64_t example, const at::Tensor& latent, Metrics& metrics) {
  const at::Tensor features = features_of(latent);
  const at::Tensor sums = features.sum(0), products = at::matmul(features.t(), features);
  metrics.note(count_note(kind), example, static_cast<double>(features.size(0)));
  for (int64_t i = 0; i < sums.numel(); ++i) {
    metrics.note(sum_note(kind, i), example, sums[i].item<double>());
    for (int64_t j = i; j < sums.numel(); ++j)
      metrics.note(product_note(kind, i, j), example, products[i][j].item<double>());
  }
}

void report_frechet(const CaseValues& cases, const CaseValues& training, Metrics& metrics) {
  const auto trained = gaussian_of(training, blocks::of_training);
  if (!trained) return;
  // What is the same in every block of training says nothing, and has no scale.
  const at::Tensor deviation = trained->covariance.diagonal().clamp_min(1e-24).sqrt();
  const auto report = [&](const char* kind, const char* name) {
    const auto judged = gaussian_of(cases, kind);
    if (!judged || judged->mean.sizes() != trained->mean.sizes()) return;
    metrics.figure(name, {.value = frechet(scaled(*judged, deviation), scaled(*trained, deviation)),
                          .no_interval = "cases that are drawn twice would make it larger"});
  };
  report(blocks::of_invented, "frechet");
  report(blocks::of_truth, "frechet_of_truth");
}

}  // namespace larmor::latent_diffusion
