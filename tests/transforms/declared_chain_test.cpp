#include "larmor/transforms/declared_chain.h"

#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

const Json declared = parse_json(R"([
  {"ScaleIntensityRanged": {"keys": ["image"], "a_min": 0, "a_max": 1}},
  {"RandSpatialCrop": {"roi_size": [32, 32, 16], "validation_roi_size": [48, 48, 48]}},
  {"RandFlip": {"prob": 0.5}}
])",
                                 "the test's chain");

TEST(DeclaredChain, KeepsAllOfItForTrainingButWhatOnlyValidationReads) {
  const Json chain = training_chain(declared);
  ASSERT_EQ(chain.size(), 3U);
  EXPECT_EQ(chain[1], parse_json(R"({"RandSpatialCrop": {"roi_size": [32, 32, 16]}})", "expected"));
}

TEST(DeclaredChain, ValidatesOnTheCentreAndDrawsNothing) {
  const Json chain = validation_chain(declared);
  ASSERT_EQ(chain.size(), 2U);
  EXPECT_EQ(chain[1], parse_json(R"({"CenterSpatialCrop": {"roi_size": [48, 48, 48]}})", "expected"));
}

TEST(DeclaredChain, PredictsWholeVolumes) {
  const Json chain = prediction_chain(declared);
  ASSERT_EQ(chain.size(), 1U);
  EXPECT_TRUE(chain[0].contains("ScaleIntensityRanged"));
}

TEST(DeclaredChain, TreatsACropAroundALabelAsAnyOther) {
  const Json chain = parse_json(
      R"([{"RandCropByPosNegLabeld": {"keys": ["image", "label"], "label_key": "label", "spatial_size": 16,
                                      "pos": 2, "num_samples": 4, "validation_roi_size": 24}}])",
      "a chain");
  EXPECT_FALSE(training_chain(chain)[0].front().contains("validation_roi_size"));
  EXPECT_EQ(validation_chain(chain),
            parse_json(R"([{"CenterSpatialCrop": {"keys": ["image", "label"], "roi_size": 24}}])", "one"));
  EXPECT_TRUE(prediction_chain(chain).empty());
}

TEST(DeclaredChain, KnowsTheKeysOfItsStepsButNotThoseOfReading) {
  const Json chain = parse_json(R"(["EnsureChannelFirst", {"LoadImaged": {"keys": "image"}}, {"Clip": {}},
                                    {"Clipd": {"keys": ["image", "mask"]}}, {"RandFlip": {"keys": "label"}}])",
                                "a chain");
  using Keys = std::vector<std::string>;
  EXPECT_EQ(keys_of_steps(chain), (std::vector<std::pair<std::string, Keys>>{{"Clipd", {"image", "mask"}},
                                                                             {"RandFlip", {"label"}}}));
}

}  // namespace
}  // namespace larmor::testing
