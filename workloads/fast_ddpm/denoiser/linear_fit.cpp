#include "workloads/fast_ddpm/denoiser/linear_fit.h"

#include <algorithm>

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

std::vector<NotedProducts> noted_products(const CaseValues& cases, int64_t channels) {
  std::vector<NotedProducts> all;
  for (int64_t row = 0; row <= channels; ++row) {
    for (int64_t column = 0; column <= row; ++column) {
      const auto found = cases.find(product_name(row, column));
      if (found == cases.end()) return {};
      if (all.empty()) {
        for (const auto& [example, value] : found->second)
          all.push_back({example, at::empty({channels + 1, channels + 1}, at::kDouble)});
      }
      for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].products[row][column] = found->second[i].second;
        all[i].products[column][row] = found->second[i].second;
      }
    }
  }
  return all;
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
  fit[target] = -1;
  return fit;
}

double error_of_fit(const at::Tensor& products, const at::Tensor& fit) {
  const auto voxels = products[-1][-1].item<double>();
  const double squares = at::matmul(fit, at::matmul(products, fit)).item<double>();
  return std::max(squares, 0.0) / voxels;
}

}  // namespace larmor::fast_ddpm
