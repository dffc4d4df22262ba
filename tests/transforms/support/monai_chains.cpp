#include "tests/transforms/support/monai_chains.h"

#include <algorithm>
#include <cstdlib>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/transforms/transforms.h"

namespace larmor::testing {

std::filesystem::path chains_file(const std::string& name) {
  const char* const source = std::getenv("LARMOR_SOURCE");
  return std::filesystem::path(source == nullptr ? "." : source) / "tests" / "transforms" / "fixtures" / name;
}

Json chains_of(const std::string& name) { return read_json(chains_file(name)); }

Affine affine_of(const at::Tensor& matrix) {
  Affine affine{};
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 4; ++column) affine[row][column] = matrix[row][column].item<double>();
  }
  return affine;
}

namespace {

void expect_like_monai(const Volume& ours, const at::Tensor& voxels, const at::Tensor& affine) {
  ASSERT_EQ(ours.voxels.sizes(), voxels.sizes());
  const double span = std::max(1.0, (voxels.max() - voxels.min()).item<double>());
  EXPECT_LE((ours.voxels - voxels).abs().max().item<double>(), 1e-4 * span);
  const auto expected = affine_of(affine);
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 4; ++column) {
      EXPECT_NEAR(ours.affine[row][column], expected[row][column], 1e-3)
          << "row " << row << ", column " << column;
    }
  }
}

}  // namespace

void expect_chains_like_monai(const Json& chains, const Volume& volume, const NamedTensors& monai) {
  for (const Json& entry : chains) {
    const auto name = entry.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const TransformChain chain(entry.at("chain"));
    const auto ours = chain.apply({{"image", volume}}, {1, 2, 3}).at("image");
    expect_like_monai(ours, monai.at(name), monai.at(name + "/affine"));
  }
}

}  // namespace larmor::testing
