#include <set>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

Volume counting() { return {at::arange(8 * 9 * 10, at::kFloat).view({1, 8, 9, 10}), identity_affine()}; }

Volume run(const char* chain, const ExampleKey& key = {1, 2, 3}) {
  return TransformChain(Json::parse(chain)).apply({{"image", counting()}}, key).at("image");
}

TEST(TransformChain, RunsTheDeclaredTransformsInOrder) {
  const Volume direct = scale_percentiles(
      center_crop(resample(orient(counting(), "LPS"), {2, 1, 1}), {3, 4, 5}), {0, 99.5, 0, 1, true});
  const Volume declared = run(R"([
      {"LoadImage": {"image_only": true}}, "EnsureChannelFirst", {"Orientation": {"axcodes": "LPS"}},
      {"Spacing": {"pixdim": [2, 1, 1], "mode": "bilinear"}}, {"CenterSpatialCrop": {"roi_size": [3, 4, 5]}},
      {"ScaleIntensityRangePercentiles": {"lower": 0, "upper": 99.5, "b_min": 0, "b_max": 1, "clip": true}}])");
  EXPECT_TRUE(declared.voxels.equal(direct.voxels));
  EXPECT_EQ(declared.affine, direct.affine);
}

TEST(TransformChain, TakesMonaisDictionaryNamesForTheImage) {
  const char* const chain =
      R"([{"LoadImaged": {"keys": "image"}}, {"CenterSpatialCropd": {"keys": ["image"], "roi_size": 4}}])";
  EXPECT_EQ(run(chain).voxels.sizes(), (std::vector<int64_t>{1, 4, 4, 4}));
}

TEST(TransformChain, PutsTheBackgroundAtTheBottomBehindNormalizeIntensity) {
  const at::Tensor voxels = at::tensor({0.0F, 1.0F, 2.0F, 3.0F, 0.0F, 600.0F}).view({1, 6, 1, 1});
  const auto after = [&](const std::string& nonzero) {
    const auto chain = TransformChain(Json::parse(
        R"([{"NormalizeIntensity": {"nonzero": true}}, {"ScaleIntensityRange":
            {"a_min": -1.6, "a_max": 1.6, "b_min": -1, "b_max": 1, "clip": true, "nonzero": )" +
        nonzero + "}}]"));
    return chain.apply({{"image", {voxels, identity_affine()}}}, {1, 2, 3}).at("image").voxels.flatten();
  };
  const at::Tensor at_the_bottom = after("true"), in_the_middle = after("false");
  EXPECT_EQ(at_the_bottom[0].item<float>(), -1);
  EXPECT_EQ(at_the_bottom[4].item<float>(), -1);
  EXPECT_EQ(in_the_middle[0].item<float>(), 0);
  EXPECT_TRUE(at_the_bottom.slice(0, 1, 4).equal(in_the_middle.slice(0, 1, 4)));
  EXPECT_EQ(at_the_bottom[5].item<float>(), 1);  // the clip
}

/// Zeros but for ones from `low` to `high` (excluded) of the first axis.
Volume bright_between(int64_t low, int64_t high) {
  at::Tensor voxels = at::zeros({1, 12, 4, 4});
  voxels.slice(1, low, high).fill_(1);
  return {voxels, identity_affine()};
}

TEST(TransformChain, RefusesToCropToAForegroundThatIsNotThere) {
  const auto refusal = [](const char* steps, const Volumes& volumes) -> std::string {
    try {
      TransformChain(Json::parse(steps)).apply(volumes, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::data);
      return error.message();
    }
    return "accepted";
  };
  const Volume shown = bright_between(2, 5), black = bright_between(0, 0);
  EXPECT_THAT(refusal(R"([{"CropForeground": {}}])", {{"image", black}}), HasSubstr("above 0"));
  EXPECT_THAT(refusal(R"([{"CropForeground": {}}])", {{"low", shown}}), HasSubstr("\"image\""));
  EXPECT_THAT(refusal(R"([{"CropForeground": {"source_key": "head"}}])", {{"image", shown}}),
              HasSubstr("head"));
  EXPECT_EQ(refusal(R"([{"CropForeground": {}}])", {{"image", shown}, {"mask", black}}), "accepted");
}

TEST(TransformChain, IsTheIdentityWhenEmpty) {
  for (const char* const chain : {"[]", "null"}) EXPECT_TRUE(run(chain).voxels.equal(counting().voxels));
}

TEST(TransformChain, DrawsRandomCropsFromTheExampleAlone) {
  const char* const chain = R"([{"RandSpatialCrop": {"roi_size": [4, 9, 20], "random_size": false}}])";
  std::set<float> corners;
  for (int64_t example = 0; example < 200; ++example) {
    const Volume crop = run(chain, {1, 2, example});
    ASSERT_EQ(crop.voxels.sizes(), (std::vector<int64_t>{1, 4, 9, 10}));
    EXPECT_TRUE(crop.voxels.equal(run(chain, {1, 2, example}).voxels));
    corners.insert(crop.voxels.flatten()[0].item<float>());
  }
  EXPECT_EQ(corners, (std::set<float>{0, 90, 180, 270, 360})) << "every corner, the last one too";
}

TEST(TransformChain, DrawsAnewForEveryEpochAndSeedAndForEachCropOfAChain) {
  const char* const one = R"([{"RandSpatialCrop": {"roi_size": 1}}])";
  std::set<float> by_epoch, by_seed;
  for (int64_t i = 0; i < 50; ++i) {
    by_epoch.insert(run(one, {1, i, 0}).voxels.item<float>());
    by_seed.insert(run(one, {static_cast<uint64_t>(i), 0, 0}).voxels.item<float>());
  }
  EXPECT_GT(by_epoch.size(), 40U);
  EXPECT_GT(by_seed.size(), 40U);
  // Were both drawn alike, the second corner would follow from the first.
  const char* const two =
      R"([{"RandSpatialCrop": {"roi_size": [5, 9, 10]}}, {"RandSpatialCrop": {"roi_size": [2, 9, 10]}}])";
  std::set<float> sums;
  for (int64_t i = 0; i < 200; ++i) sums.insert(run(two, {1, i, 0}).voxels.flatten()[0].item<float>() / 90);
  EXPECT_EQ(sums.size(), 7U);
}

TEST(TransformChain, GivesTheSameBitsWhicheverStepsAreDoneTogether) {
  const Affine slanted{{{0, -1.5, 0.2, 3}, {-1, 0, 0.1, 4}, {0.1, 0, 2, 5}, {0, 0, 0, 1}}};
  const Volume source{at::rand({2, 12, 10, 8}).permute({0, 3, 2, 1}), slanted};
  const TransformChain chain(Json::parse(R"([
      {"Orientation": {"axcodes": "RAS"}}, {"CenterSpatialCrop": {"roi_size": [7, 9, 6]}}, {"Orientation": {"axcodes": "ILP"}},
      {"Spacing": {"pixdim": [1.3, 0.7, 0.9]}}, {"Spacing": {"pixdim": 1.1}}, {"RandSpatialCrop": {"roi_size": [4, 4, 3]}},
      {"Orientation": {"axcodes": "RAS"}}, {"Spacing": {"pixdim": 0.8, "mode": "nearest"}}, {"RandSpatialCrop": {"roi_size": 3}},
      {"ScaleIntensityRangePercentiles": {"lower": 1, "upper": 99, "b_min": 0, "b_max": 1}}])"));
  Volume step = center_crop(orient(source), {7, 9, 6});
  step = resample(resample(orient(step, "ILP"), {1.3, 0.7, 0.9}), {1.1, 1.1, 1.1});
  const Volume kept = chain.deterministic_part({{"image", source}}).at("image");
  EXPECT_TRUE(kept.voxels.allclose(step.voxels));
  for (int64_t example = 0; example < 10; ++example) {
    const Volume apart = chain.random_part({{"image", kept}}, {1, 2, example}).at("image"),
                 together = chain.apply({{"image", source}}, {1, 2, example}).at("image");
    EXPECT_TRUE(together.voxels.equal(apart.voxels));
    EXPECT_EQ(together.affine, apart.affine);
  }
}

TEST(TransformChain, KeepsWhatIsBeforeTheFirstRandomStepApart) {
  const TransformChain chain(Json::parse(
      R"([{"Orientation": {"axcodes": "LAS"}}, {"RandSpatialCrop": {"roi_size": 4}}, {"CenterSpatialCrop": {"roi_size": 2}}])"));
  const Volume kept = chain.deterministic_part({{"image", counting()}}).at("image");
  EXPECT_EQ(kept.voxels.sizes(), counting().voxels.sizes());
  const Volume again = chain.random_part({{"image", kept}}, {1, 2, 3}).at("image");
  EXPECT_EQ(again.voxels.sizes(), (std::vector<int64_t>{1, 2, 2, 2}));
  EXPECT_TRUE(again.voxels.equal(chain.apply({{"image", counting()}}, {1, 2, 3}).at("image").voxels));
}

void expect_refused(const char* chain, const std::string& reason, const std::string& hint = "") {
  try {
    run(chain);
    ADD_FAILURE() << "accepted: " << chain;
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), HasSubstr(reason));
    EXPECT_THAT(error.hint(), HasSubstr(hint));
  }
}

TEST(TransformChain, RefusesWhatItDoesNotKnowAndNamesTheNearest) {
  expect_refused(R"([{"Spacin": {"pixdim": 1}}])", "no transform Spacin", "Spacing");
  expect_refused(R"([{"RandBiasField": {}}])", "no transform RandBiasField");
  expect_refused(R"([{"Spacing": {"pixdims": 1, "pixdim": 1}}])", "no parameter pixdims", "pixdim");
  expect_refused(R"([{"CenterSpatialCrop": {"roi_size": 1, "roi_sise": 2}}])", "no parameter roi_sise",
                 "roi_size");
  expect_refused(R"({"Spacing": {}})", "must be a list");
  expect_refused(R"([{"Spacing": {"pixdim": 1}, "Orientation": {"axcodes": "RAS"}}])", "not one transform");
  expect_refused(R"([7])", "not one transform");
  expect_refused(R"([{"Spacing": 2}])", "mapping");
}

TEST(TransformChain, RefusesParametersThatItCannotHonour) {
  expect_refused(R"([{"Spacing": {}}])", "pixdim is missing");
  expect_refused(R"(["Orientation"])", "axcodes is missing");
  expect_refused(R"([{"Spacing": {"pixdim": [1, 2]}}])", "one or three");
  expect_refused(R"([{"Spacing": {"pixdim": "1"}}])", "not numbers");
  expect_refused(R"([{"Spacing": {"pixdim": 1, "mode": "bicubic"}}])", "bicubic");
  expect_refused(R"([{"Spacing": {"pixdim": 1, "align_corners": true}}])", "align_corners");
  expect_refused(R"([{"Orientation": {"axcodes": "RAZ"}}])", "RAZ");
  expect_refused(R"([{"CenterSpatialCrop": {"roi_size": 1.5}}])", "whole numbers");
  expect_refused(R"([{"RandSpatialCrop": {"roi_size": 4, "random_size": true}}])", "random_size");
  expect_refused(R"([{"RandFlipd": {"keys": ["image", "lable"]}}])", "keys");
  expect_refused(
      R"([{"ScaleIntensityRangePercentiles": {"lower": 0, "upper": 101, "b_min": 0, "b_max": 1}}])",
      "upper is 101");
  expect_refused(
      R"([{"ScaleIntensityRangePercentiles": {"lower": 0, "upper": 99, "b_min": 0, "b_max": 1, "clip": 1}}])",
      "clip");
}

}  // namespace
}  // namespace larmor
