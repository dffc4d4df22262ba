// What chance does to examples: the draws belong to the example, and its volumes share them.
#include <cmath>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

TransformChain chain_of(const std::string& text) { return TransformChain(Json::parse(text)); }

at::Tensor smooth() {
  at::manual_seed(7);
  return at::upsample_trilinear3d(at::rand({1, 1, 5, 6, 7}), {20, 24, 28}, false).squeeze(0);
}

Volumes head_and_mask() {
  const auto voxels = smooth();
  return {{"image", {voxels, identity_affine()}},
          {"mask", {voxels.gt(0.5).to(at::kFloat), identity_affine()}}};
}

constexpr const char* all_of_space = R"([
    {"RandAffine": {"prob": 1, "rotate_range": [0.5, 0.5, 0.5], "scale_range": [0.2, 0.2, 0.2], "padding_mode": "zeros"}},
    {"RandFlip": {"prob": 0.5}}, {"RandRotate90": {"prob": 0.5, "spatial_axes": [0, 1]}},
    {"RandSpatialCrop": {"roi_size": [12, 12, 12]}}])";

TEST(RandomTransforms, MoveAMaskWithItsImageAndKeepItsClasses) {
  const auto chain = chain_of(all_of_space);
  for (int64_t example = 0; example < 10; ++example) {
    auto result = chain.apply(head_and_mask(), {1, 2, example});
    const auto mask = result.at("mask").voxels, image = result.at("image").voxels;
    EXPECT_TRUE(mask.eq(0).logical_or(mask.eq(1)).all().item<bool>());
    // Only where the image is near the threshold may the two ways of sampling disagree.
    const auto apart = image.gt(0.5).to(at::kFloat).ne(mask).logical_and((image - 0.5).abs().gt(0.1));
    EXPECT_LE(apart.to(at::kFloat).mean().item<double>(), 0.02) << "example " << example;
  }
}

TEST(RandomTransforms, AreTheSameForAnExampleAndOthersForTheNext) {
  const auto chain = chain_of(all_of_space);
  const auto first = chain.apply(head_and_mask(), {1, 2, 3}).at("image").voxels;
  EXPECT_TRUE(first.equal(chain.apply(head_and_mask(), {1, 2, 3}).at("image").voxels));
  EXPECT_FALSE(first.equal(chain.apply(head_and_mask(), {1, 2, 4}).at("image").voxels));
  EXPECT_FALSE(first.equal(chain.apply(head_and_mask(), {1, 3, 3}).at("image").voxels));
}

TEST(RandomTransforms, GiveTheSameBitsAfterACache) {
  const auto chain = chain_of(R"([
      {"Spacing": {"pixdim": [0.8, 0.9, 1.1]}}, {"CenterSpatialCrop": {"roi_size": [20, 20, 20]}},
      {"RandSpatialCrop": {"roi_size": [16, 16, 16]}},
      {"RandAffine": {"prob": 0.7, "rotate_range": [0.5, 0.5, 0.5]}}, {"RandFlip": {"prob": 0.5, "spatial_axis": 0}},
      {"RandRotate": {"prob": 0.5, "range_z": 0.4}}, {"RandZoom": {"prob": 0.5}},
      {"RandGaussianNoise": {"prob": 0.5}}, {"RandAdjustContrast": {"prob": 0.5}}])");
  const auto kept = chain.deterministic_part(head_and_mask());
  for (int64_t example = 0; example < 20; ++example) {
    const auto apart = chain.random_part(kept, {1, 2, example}),
               together = chain.apply(head_and_mask(), {1, 2, example});
    for (const auto& [name, volume] : apart) {
      EXPECT_TRUE(volume.voxels.equal(together.at(name).voxels)) << name << " of " << example;
      EXPECT_EQ(volume.affine, together.at(name).affine);
    }
  }
}

TEST(RandomTransforms, HappenAsOftenAsTheyAreAskedFor) {
  const auto chain = chain_of(R"([{"RandFlip": {"prob": 0.3, "spatial_axis": 0}}])");
  const Volumes volumes{{"image", {at::arange(2, at::kFloat).view({1, 2, 1, 1}), identity_affine()}}};
  int flipped = 0;
  for (int64_t example = 0; example < 2000; ++example) {
    flipped +=
        chain.apply(volumes, {1, 2, example}).at("image").voxels.flatten()[0].item<float>() == 1 ? 1 : 0;
  }
  EXPECT_NEAR(flipped, 600, 75);  // over three standard deviations
}

TEST(RandomTransforms, AddNoiseOfTheDeviationThatIsAskedFor) {
  const auto chain =
      chain_of(R"([{"RandGaussianNoise": {"prob": 1, "mean": 2, "std": 0.5, "sample_std": false}}])");
  const Volumes volumes{{"image", {at::zeros({1, 40, 40, 40}), identity_affine()}}};
  const auto noise = chain.apply(volumes, {1, 2, 3}).at("image").voxels;
  EXPECT_NEAR(noise.mean().item<double>(), 2, 0.01);
  EXPECT_NEAR(noise.std().item<double>(), 0.5, 0.01);
}

/// How far `chain` moves each of three channels of ones, each of one number.
std::vector<float> changes_of_channels(const char* chain, int64_t example) {
  const Volumes ones{{"image", {at::ones({3, 2, 2, 2}), identity_affine()}}};
  const auto changed = chain_of(chain).apply(ones, {1, 2, example}).at("image").voxels.flatten(1) - 1;
  EXPECT_TRUE(changed.equal(changed.narrow(1, 0, 1).expand_as(changed)));
  std::vector<float> changes;
  for (int64_t channel = 0; channel < changed.size(0); ++channel)
    changes.push_back(changed[channel][0].item<float>());
  return changes;
}

TEST(RandomTransforms, ShiftAndScaleAnImageByOneNumberOrEachChannelByItsOwn) {
  for (const char* together : {R"([{"RandShiftIntensity": {"prob": 1, "offsets": 0.5}}])",
                               R"([{"RandScaleIntensity": {"prob": 1, "factors": 0.5}}])"}) {
    const auto changes = changes_of_channels(together, 4);
    EXPECT_EQ(changes[0], changes[1]);
    EXPECT_EQ(changes[0], changes[2]);
  }
  for (const char* apart :
       {R"([{"RandShiftIntensity": {"prob": 1, "offsets": 0.5, "channel_wise": true}}])",
        R"([{"RandScaleIntensity": {"prob": 1, "factors": 0.5, "channel_wise": true}}])"}) {
    const auto changes = changes_of_channels(apart, 4);
    EXPECT_NE(changes[0], changes[1]);
    EXPECT_NE(changes[1], changes[2]);
    for (const float change : changes) EXPECT_LE(std::abs(change), 0.5F);
    EXPECT_EQ(changes, changes_of_channels(apart, 4));
    EXPECT_NE(changes, changes_of_channels(apart, 5));
  }
}

TEST(RandomTransforms, LeaveMasksTheirValues) {
  const auto chain = chain_of(R"([
      {"ScaleIntensityRange": {"a_min": 0, "a_max": 2}}, {"RandShiftIntensity": {"prob": 1, "offsets": [3, 3]}},
      {"RandGaussianNoise": {"prob": 1}}])");
  const auto result = chain.apply(head_and_mask(), {1, 2, 3});
  EXPECT_TRUE(result.at("mask").voxels.equal(head_and_mask().at("mask").voxels));
  EXPECT_FALSE(result.at("image").voxels.equal(head_and_mask().at("image").voxels));
}

TEST(RandomTransforms, AreForTheVolumesThatKeysNames) {
  const auto chain = chain_of(R"([{"RandFlipd": {"prob": 1, "keys": ["mask"]}}])");
  const auto before = head_and_mask(), after = chain.apply(head_and_mask(), {1, 2, 3});
  EXPECT_TRUE(after.at("image").voxels.equal(before.at("image").voxels));
  EXPECT_TRUE(after.at("mask").voxels.equal(before.at("mask").voxels.flip({1, 2, 3})));
}

TEST(RandomTransforms, AreSampledAsModeSaysForEachKey) {
  Volumes volumes = head_and_mask();
  volumes["label"] = volumes.at("mask");
  const auto run = [&](const char* mode) {
    return chain_of(
               std::string(
                   R"([{"RandRotate": {"prob": 1, "range_x": [0.4, 0.4], "keys": ["image", "label"], "mode": )") +
               mode + "}}]")
        .apply(volumes, {1, 2, 3})
        .at("label")
        .voxels;
  };
  const auto classes = run(R"(["bilinear", "nearest"])"), blurred = run(R"("bilinear")");
  EXPECT_TRUE(classes.eq(0).logical_or(classes.eq(1)).all().item<bool>());
  EXPECT_FALSE(blurred.eq(0).logical_or(blurred.eq(1)).all().item<bool>());
}

TEST(RandomTransforms, JoinNeighboursToOneInterpolationUnlessToldNotTo) {
  // There and back: joined, nothing is lost; apart, both blur.
  const auto run = [](const std::string& lazy) {
    const auto turn = [&](const std::string& angle) {
      return R"({"RandRotate": {"prob": 1, "range_x": [)" + angle + ", " + angle + R"(], "lazy": )" + lazy +
             "}}";
    };
    return chain_of("[" + turn("0.3") + ", " + turn("-0.3") + "]")
        .apply(head_and_mask(), {1, 2, 3})
        .at("image")
        .voxels;
  };
  const auto error = [](const at::Tensor& voxels) {
    const auto inner = [](const at::Tensor& all) { return all.slice(2, 8, 16).slice(3, 8, 20); };
    return (inner(voxels) - inner(smooth())).abs().max().item<double>();
  };
  EXPECT_LE(error(run("true")), 1e-5);
  EXPECT_GE(error(run("false")), 1e-3);
}

}  // namespace
}  // namespace larmor
