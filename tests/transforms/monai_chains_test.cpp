// Every transform against what MONAI 1.6.1 gave for the same parameters (tests/peers/monai_chains.py).
#include "tests/transforms/support/monai_chains.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/device/tensors/tensor_file.h"
#include "larmor/transforms/transforms.h"

#include "tests/support/image_files.h"

namespace larmor {
namespace {

NamedTensors golden() { return read_tensors(testing::golden_file("transforms.safetensors")); }

TEST(MonaiChains, EqualMonaisOnAMadeUpVolume) {
  const auto monai = golden();
  const Volume volume{monai.at("voxels"), testing::affine_of(monai.at("affine"))};
  testing::expect_chains_like_monai(testing::chains_of("monai_chains.json"), volume, monai);
}

TEST(MonaiChains, EqualMonaisOnAPicture) {
  const auto monai = read_tensors(testing::golden_file("picture_transforms.safetensors"));
  const Volume picture{monai.at("voxels").unsqueeze(-1), identity_affine()};
  for (const Json& entry : testing::chains_of("monai_picture_chains.json")) {
    const auto name = entry.at("name").get<std::string>();
    const auto ours =
        TransformChain(entry.at("chain")).apply({{"image", picture}}, {1, 2, 3}).at("image").voxels;
    const at::Tensor& expected = monai.at(name);
    ASSERT_EQ(ours.sizes(), expected.unsqueeze(-1).sizes()) << name;
    EXPECT_LE((ours.squeeze(-1) - expected).abs().max().item<double>(), 1e-4) << name;
  }
}

TEST(MonaiChains, GiveTheSameWhateverTheOrderInMemory) {
  const auto voxels = golden().at("voxels");
  const auto turned = voxels.permute({0, 3, 2, 1}).contiguous().permute({0, 3, 2, 1});
  for (const Json& entry : testing::chains_of("monai_chains.json")) {
    const TransformChain chain(entry.at("chain"));
    const auto run = [&](const at::Tensor& given) {
      return chain.apply({{"image", {given, identity_affine()}}}, {1, 2, 3}).at("image").voxels;
    };
    EXPECT_LE((run(voxels) - run(turned)).abs().max().item<double>(), 1e-5) << entry.at("name");
  }
}

}  // namespace
}  // namespace larmor
