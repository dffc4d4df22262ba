#include "workloads/fast_ddpm/denoiser/linear_fit.h"

#include <vector>

#include <ATen/ATen.h>

#include "larmor/base/text.h"

namespace larmor::fast_ddpm {
namespace {

/// Of the products of one case; the lower half, row by row.
std::string product_name(int64_t row, int64_t column) { return text("products ", row, " ", column); }

}  // namespace

at::Tensor channel_products(const at::Tensor& image, const at::Tensor& brain) {
  const at::Tensor voxels =
      image.flatten(1).index({at::Tensor(), brain.flatten()}).to(at::kDouble);  // [C, V]
  const at::Tensor rows = at::cat({voxels, at::ones({1, voxels.size(1)}, voxels.options())});
  return at::matmul(rows, rows.t()).cpu();
}

void note_products(const at::Tensor& products, int64_t example, Metrics& metrics) {
  for (int64_t row = 0; row < products.size(0); ++row) {
    for (int64_t column = 0; column <= row; ++column)
      metrics.note(product_name(row, column), example, products[row][column].item<double>());
  }
}

std::optional<at::Tensor> noted_products(const CaseValues& cases, int64_t channels) {
  at::Tensor together = at::empty({channels + 1, channels + 1}, at::kDouble);
  for (int64_t row = 0; row <= channels; ++row) {
    for (int64_t column = 0; column <= row; ++column) {
      const auto found = cases.find(product_name(row, column));
      if (found == cases.end()) return std::nullopt;
      double sum = 0;
      for (const auto& [example, value] : found->second) sum += value;
      together[row][column] = sum;
      together[column][row] = sum;
    }
  }
  return together;
}

at::Tensor linear_fit(const at::Tensor& products, int64_t target) {
  std::vector<int64_t> others;
  for (int64_t i = 0; i < products.size(0); ++i) {
    if (i != target) others.push_back(i);
  }
  const at::Tensor chosen = at::tensor(others, at::kLong);
  at::Tensor normal = products.index({chosen}).index({at::Tensor(), chosen});
  // A channel that says nothing of its own, being missing or a copy, must not make the fit impossible.
  constexpr double least_share = 1e-12;
  normal = normal + at::eye(normal.size(0), at::kDouble) * (least_share * normal.trace().item<double>());
  const at::Tensor factors = at::linalg_solve(normal, products.index({chosen}).select(1, target));
  at::Tensor fit = at::empty({products.size(0)}, at::kDouble);
  fit.index_put_({chosen}, factors);
  fit[target] = 0;
  return fit;
}

at::Tensor fitted(const at::Tensor& image, const at::Tensor& fit) {
  const auto channels = image.size(0);
  const at::Tensor factors = fit.to(image.device());
  at::Tensor combined = at::tensordot(factors.narrow(0, 0, channels), image.to(at::kDouble), {0}, {0});
  return combined.add_(factors[channels]).clamp_(-1, 1);
}

}  // namespace larmor::fast_ddpm
