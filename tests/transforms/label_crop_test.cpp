// RandCropByPosNegLabel: where its centres lie, and what it does where there is no choice.
#include <map>
#include <set>
#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/transforms/mask_name.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;
using Sizes = std::vector<int64_t>;

constexpr int64_t side = 12;

/// The image counts its voxels; the label is 0 but for classes 1 and 2 in two corners that are far apart.
Volumes labelled() {
  at::Tensor label = at::zeros({1, side, side, side});
  label.slice(1, 0, 2).slice(2, 0, 2).slice(3, 0, 2).fill_(1);
  label.slice(1, 10, 12).slice(2, 5, 7).slice(3, 10, 12).fill_(2);
  return {{"image", {at::arange(side * side * side, at::kFloat).view({1, side, side, side})}},
          {"mask", {label}}};
}

Volumes crop(const std::string& parameters, const Volumes& volumes, const ExampleKey& key) {
  const auto chain = TransformChain(
      Json::parse(R"([{"RandCropByPosNegLabel": {"label_key": "mask", )" + parameters + "}}]"));
  return chain.apply(volumes, key);
}

/// With crops of one voxel the centre is the crop.
int64_t count_foreground(const std::string& shares, const Volumes& volumes, int64_t draws) {
  int64_t count = 0;
  for (int64_t example = 0; example < draws; ++example) {
    const Volumes drawn = crop(R"("spatial_size": 1, )" + shares, volumes, {1, 2, example});
    count += drawn.at("mask").voxels.item<float>() > 0 ? 1 : 0;
  }
  return count;
}

TEST(LabelCrop, DrawsItsCentresFromTheForegroundAsOftenAsItIsTold) {
  constexpr int64_t draws = 2000;
  const Volumes volumes = labelled();
  // The foreground is 16 voxels of 1728. Five standard deviations of a share of 2000 draws are 0.056.
  EXPECT_NEAR(count_foreground(R"("pos": 1, "neg": 1)", volumes, draws), draws * 0.5, draws * 0.056);
  EXPECT_NEAR(count_foreground(R"("pos": 3, "neg": 1)", volumes, draws), draws * 0.75, draws * 0.056);
  EXPECT_EQ(count_foreground(R"("pos": 1, "neg": 0)", volumes, 200), 200);
  EXPECT_EQ(count_foreground(R"("pos": 0, "neg": 1)", volumes, 200), 0);
}

TEST(LabelCrop, ReachesEveryVoxelOfTheForegroundAlike) {
  constexpr int64_t draws = 3200;
  const Volumes volumes = labelled();
  std::map<float, int64_t> times;
  for (int64_t example = 0; example < draws; ++example)
    ++times
        [crop(R"("spatial_size": 1, "neg": 0)", volumes, {1, 2, example}).at("image").voxels.item<float>()];
  EXPECT_EQ(times.size(), 16U);
  for (const auto& [voxel, count] : times) EXPECT_NEAR(count, draws / 16, 70) << voxel;
}

TEST(LabelCrop, IsTheSameForImageAndLabelAndLiesInside) {
  const Volumes volumes = labelled();
  std::set<float> corners;
  for (int64_t example = 0; example < 200; ++example) {
    const Volumes drawn = crop(R"("spatial_size": [5, 4, -1])", volumes, {1, 2, example});
    const at::Tensor &image = drawn.at("image").voxels, &mask = drawn.at("mask").voxels;
    ASSERT_EQ(image.sizes(), (Sizes{1, 5, 4, side}));
    const auto corner = static_cast<int64_t>(image[0][0][0][0].item<float>());
    const int64_t x = corner / side / side, y = corner / side % side;
    const auto same_place = [&](const char* name) {
      return volumes.at(name).voxels.narrow(1, x, 5).narrow(2, y, 4);
    };
    EXPECT_TRUE(image.equal(same_place("image")));
    EXPECT_TRUE(mask.equal(same_place("mask")));
    EXPECT_EQ(position(drawn.at("image").affine, {}), (std::array<double, 3>{double(x), double(y), 0}));
    corners.insert(image[0][0][0][0].item<float>());
  }
  EXPECT_TRUE(corners.contains(0)) << "a centre at the border gives the crop that ends there";
  EXPECT_GT(corners.size(), 20U);
}

/// What monai.transforms.utils.correct_crop_centers (1.6) makes of a centre along an axis of 12 voxels, for
/// crops of these sizes. A label of one voxel leaves no choice of the centre.
TEST(LabelCrop, MovesACropThatReachesOverTheBorderAsMonaiDoes) {
  const Sizes sizes{1, 2, 4, 5, 11, 12};
  const std::map<int64_t, Sizes> corners{{0, {0, 0, 0, 0, 0, 0}},   {2, {2, 1, 0, 0, 0, 0}},
                                         {5, {5, 4, 3, 3, 0, 0}},   {6, {6, 5, 4, 4, 1, 0}},
                                         {10, {10, 9, 8, 7, 1, 0}}, {11, {11, 10, 8, 7, 1, 0}}};
  for (const auto& [centre, expected] : corners) {
    Volumes volumes = labelled();
    volumes.at("mask").voxels = at::zeros({1, side, side, side});
    volumes.at("mask").voxels[0][centre][centre][centre] = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Volumes drawn =
          crop("\"neg\": 0, \"spatial_size\": " + std::to_string(sizes[i]), volumes, {1, 2, 3});
      const auto at = static_cast<double>(expected[i]);
      EXPECT_EQ(position(drawn.at("mask").affine, {}), (std::array<double, 3>{at, at, at}));
    }
  }
}

TEST(LabelCrop, DependsOnTheExampleAlone) {
  const Volumes volumes = labelled();
  const auto at = [&](const ExampleKey& key) {
    return crop(R"("spatial_size": 3)", volumes, key).at("image").voxels.flatten()[0].item<float>();
  };
  std::set<float> by_epoch, by_seed, by_example;
  for (int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(at({1, 2, i}), at({1, 2, i}));
    by_epoch.insert(at({1, i, 0}));
    by_seed.insert(at({static_cast<uint64_t>(i), 0, 0}));
    by_example.insert(at({1, 2, i}));
  }
  for (const auto& drawn : {by_epoch, by_seed, by_example}) EXPECT_GT(drawn.size(), 15U);
}

TEST(LabelCrop, TakesTheOtherKindWhereThereIsNoneOfOne) {
  Volumes volumes = labelled();
  volumes.at("mask").voxels.zero_();
  EXPECT_EQ(count_foreground(R"("pos": 1, "neg": 0)", volumes, 50), 0);
  volumes.at("mask").voxels.fill_(1);
  EXPECT_EQ(count_foreground(R"("pos": 0, "neg": 1)", volumes, 50), 50);
}

TEST(LabelCrop, TakesTheBackgroundFromWhereTheImageIsAboveItsThreshold) {
  const Volumes volumes = labelled();
  for (int64_t example = 0; example < 100; ++example) {
    const Volumes drawn =
        crop(R"("spatial_size": 1, "pos": 0, "image_key": "image", "image_threshold": 1700)", volumes,
             {1, 2, example});
    EXPECT_GT(drawn.at("image").voxels.item<float>(), 1700);
  }
}

TEST(LabelCrop, PassesOverTheBackgroundChannelOfALabelOfSeveral) {
  Volumes volumes = labelled();
  const at::Tensor foreground = volumes.at("mask").voxels.gt(0).to(at::kFloat);
  volumes.at("mask").voxels = at::cat({1 - foreground, foreground});
  for (int64_t example = 0; example < 50; ++example) {
    const Volumes drawn = crop(R"("spatial_size": 1, "neg": 0)", volumes, {1, 2, example});
    EXPECT_EQ(drawn.at("mask").voxels[1].item<float>(), 1);
  }
}

TEST(LabelCrop, FindsALabelThatIsAMaskByTheKeyLabel) {
  Volumes volumes = labelled();
  auto mask = volumes.extract("mask");
  mask.key() = label_as_mask;
  volumes.insert(std::move(mask));
  const auto chain = TransformChain(Json::parse(
      R"([{"RandCropByPosNegLabeld": {"keys": ["image", "label"], "label_key": "label", "spatial_size": 1, "neg": 0}}])"));
  EXPECT_GT(chain.apply(volumes, {1, 2, 3}).at(std::string(label_as_mask)).voxels.item<float>(), 0);
}

TEST(LabelCrop, MakesSeveralExamplesOfAVolume) {
  const auto chain = TransformChain(Json::parse(
      R"([{"RandCropByPosNegLabel": {"label_key": "mask", "spatial_size": 4, "num_samples": 3}}])"));
  EXPECT_EQ(chain.samples_per_volume(), 3);
  EXPECT_EQ(chain.size_after({{9, 9, 9}}), (GridSize{4, 4, 4}));
}

std::string refusal(const std::string& parameters, const Volumes& volumes, Exit exit) {
  try {
    crop(parameters, volumes, {1, 2, 3});
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), exit);
    return error.message() + " | " + error.hint();
  }
  return "accepted";
}

TEST(LabelCrop, RefusesAnImageThatIsSmallerUnlessItMayBe) {
  const Volumes volumes = labelled();
  EXPECT_THAT(refusal(R"("spatial_size": [4, 13, 4])", volumes, Exit::data),
              AllOf(HasSubstr("13"), HasSubstr("12"), HasSubstr("SpatialPad"), HasSubstr("allow_smaller")));
  EXPECT_EQ(crop(R"("spatial_size": [4, 13, 4], "allow_smaller": true)", volumes, {1, 2, 3})
                .at("image")
                .voxels.sizes(),
            (Sizes{1, 4, side, 4}));
}

TEST(LabelCrop, RefusesWhatCannotBe) {
  Volumes volumes = labelled();
  EXPECT_THAT(refusal(R"("spatial_size": 4, "pos": 0, "neg": 0)", volumes, Exit::usage), HasSubstr("both 0"));
  EXPECT_THAT(refusal(R"("spatial_size": 4, "fg_indices_key": "places")", volumes, Exit::usage),
              HasSubstr("fg_indices_key"));
  EXPECT_THAT(refusal(R"("spatial_size": 4, "image_key": "scan")", volumes, Exit::data), HasSubstr("scan"));
  volumes.at("image").voxels = volumes.at("image").voxels.narrow(1, 0, 8);
  EXPECT_THAT(refusal(R"("spatial_size": 4)", volumes, Exit::data), HasSubstr("two sizes"));
  volumes.at("mask").voxels.zero_();
  volumes.at("image").voxels = at::zeros({1, side, side, side});
  EXPECT_THAT(refusal(R"("spatial_size": 4, "image_key": "image")", volumes, Exit::data),
              HasSubstr("no foreground"));
  volumes.erase("mask");
  EXPECT_THAT(refusal(R"("spatial_size": 4)", volumes, Exit::data), HasSubstr("\"mask\""));
  EXPECT_THROW(TransformChain(Json::parse(
                   R"([{"RandSpatialCropSamples": {"roi_size": 8, "num_samples": 2}},
                       {"RandCropByPosNegLabel": {"label_key": "mask", "spatial_size": 4}}])")),
               Error);
}

}  // namespace
}  // namespace larmor
