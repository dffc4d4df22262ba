// What size_after() says is what real volumes have behind the chain: each transform by itself, and chains of
// several.
#include <map>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

/// A grid with axes of three lengths and three steps, the first of which runs from the front to the back.
Volume tilted() {
  Affine affine{};
  affine[1][0] = -1.5;
  affine[2][1] = 0.7;
  affine[0][2] = 2;
  affine[3][3] = 1;
  return {at::rand({1, 20, 17, 12}) + 0.1, affine};
}

Extent extent_of(const Volume& volume) {
  const auto sizes = volume.voxels.sizes();
  return {{sizes[1], sizes[2], sizes[3]}, volume.affine};
}

/// By name, the parameters of each transform that has to have some, and of those that change a size.
const std::map<std::string, std::string>& parameters() {
  static const std::map<std::string, std::string> known{
      {"LoadImage", "{}"},
      {"EnsureChannelFirst", "{}"},
      {"Orientation", R"({"axcodes": "RAS"})"},
      {"Spacing", R"({"pixdim": [1, 1.3, 0.6]})"},
      {"Resize", R"({"spatial_size": [14, -1, 30]})"},
      {"RandFlip", R"({"prob": 1})"},
      {"RandRotate90", R"({"prob": 1, "max_k": 2, "spatial_axes": [1, 2]})"},
      {"RandRotate", R"({"prob": 1, "range_x": 0.4})"},
      {"RandZoom", R"({"prob": 1, "min_zoom": 0.7, "max_zoom": 1.4})"},
      {"RandAffine", R"({"prob": 1, "rotate_range": 0.3, "spatial_size": [10, -1, 40]})"},
      {"CenterSpatialCrop", R"({"roi_size": [8, -1, 40]})"},
      {"RandSpatialCrop", R"({"roi_size": [40, 9, -1]})"},
      {"RandSpatialCropSamples", R"({"roi_size": 9, "num_samples": 2})"},
      {"RandCropByPosNegLabel",
       R"({"spatial_size": [40, 9, -1], "label_key": "image", "allow_smaller": true})"},
      {"SpatialPad", R"({"spatial_size": [24, -1, 8]})"},
      {"CropForeground", "{}"},
      {"ScaleIntensityRangePercentiles", R"({"lower": 0, "upper": 99, "b_min": 0, "b_max": 1})"},
      {"ScaleIntensityRange", R"({"a_min": 0, "a_max": 1})"},
      {"ClipIntensityPercentiles", "{}"},
      {"Clip", "{}"},
      {"NormalizeIntensity", "{}"},
      {"RandShiftIntensity", R"({"prob": 1, "offsets": 0.1})"},
      {"RandScaleIntensity", R"({"prob": 1, "factors": 0.1})"},
      {"RandAdjustContrast", R"({"prob": 1})"},
      {"RandGaussianNoise", R"({"prob": 1})"}};
  return known;
}

GridSize size_of(const TransformChain& chain, const Volume& volume, int64_t example = 3) {
  return extent_of(chain.apply({{"image", volume}}, {1, 2, example}).at("image")).size;
}

TransformChain declared_chain(const std::string& declared) { return TransformChain(Json::parse(declared)); }

TEST(SizeAfter, IsWhatEachTransformLeavesOfARealVolume) {
  for (const std::string& name : transform_names()) {
    const auto known = parameters().find(name);
    ASSERT_NE(known, parameters().end()) << name << " is new: say its parameters here, and, where it changes "
                                         << "sizes, what it does to an Extent beside the transform";
    if (name == "CropForeground" || name == "RandRotate90") continue;  // below
    const Volume volume = tilted();
    const auto chain = declared_chain("[{\"" + name + "\": " + known->second + "}]");
    EXPECT_EQ(chain.size_after(extent_of(volume)), size_of(chain, volume)) << name;
  }
}

TEST(SizeAfter, HoldsForChainsThatTurnResampleAndCut) {
  for (
      const char* const declared :
      {R"([{"Orientation": {"axcodes": "RAS"}}, {"Spacing": {"pixdim": [2, 1, 1]}}])",
       R"([{"Spacing": {"pixdim": [2, 1, 1]}}, {"Orientation": {"axcodes": "PLI"}}])",
       R"([{"Resize": {"spatial_size": [10, 20, 15]}}, {"Spacing": {"pixdim": 1}}])",
       R"([{"Spacing": {"pixdim": 1}}, {"SpatialPad": {"spatial_size": 32}}, {"RandSpatialCrop": {"roi_size": 16}}])",
       R"([{"CenterSpatialCrop": {"roi_size": [9, 30, 4]}}, {"Spacing": {"pixdim": 1}}, {"RandFlip": {"prob": 1}}])",
       R"([{"RandSpatialCrop": {"roi_size": 8}}, {"Resize": {"spatial_size": 12, "keys": "label"}}])"}) {
    const Volume volume = tilted();
    const auto chain = declared_chain(declared);
    EXPECT_EQ(chain.size_after(extent_of(volume)), size_of(chain, volume)) << declared;
  }
}

TEST(SizeAfter, IsTheSizeOfADrawThatExchangesNoAxes) {
  const auto chain = declared_chain(R"([{"RandRotate90": {"prob": 0}}])");
  EXPECT_EQ(chain.size_after(extent_of(tilted())), (GridSize{20, 17, 12}));
  EXPECT_EQ(size_of(chain, tilted()), (GridSize{20, 17, 12}));
}

TEST(SizeAfter, IsNotKnownWhereVoxelsDecide) {
  const auto extent = extent_of(tilted());
  EXPECT_EQ(declared_chain(R"([{"CropForeground": {}}])").size_after(extent), GridSize{});
  EXPECT_EQ(declared_chain(R"([{"CropForeground": {}}, {"RandSpatialCrop": {"roi_size": [8, -1, 8]}}])")
                .size_after(extent),
            (GridSize{8, 0, 8}));
  EXPECT_EQ(declared_chain(R"([{"CropForeground": {"keys": "label"}}])").size_after(extent), extent.size);
}

TEST(SizeAfter, OfAVolumeThatNobodyKnowsIsWhatTheChainItselfSays) {
  const auto of_nothing = [](const char* declared) { return declared_chain(declared).size_after({}); };
  EXPECT_EQ(of_nothing("[]"), GridSize{});
  EXPECT_EQ(of_nothing(R"([{"Orientation": {"axcodes": "RAS"}}, {"Spacing": {"pixdim": 2}},
                           {"RandSpatialCrop": {"roi_size": [96, 64, -1]}}])"),
            (GridSize{96, 64, 0}));
  EXPECT_EQ(
      of_nothing(R"([{"Resize": {"spatial_size": [48, 40, 32]}}, {"RandSpatialCrop": {"roi_size": 40}}])"),
      (GridSize{40, 40, 32}));
  EXPECT_EQ(of_nothing(R"([{"SpatialPad": {"spatial_size": 48}}])"), GridSize{}) << "it may be larger";
}

TEST(SizeAfter, WithoutAnAffineIsKnownOfACubeAloneBehindOrientation) {
  const auto chain = declared_chain(R"([{"Orientation": {"axcodes": "RAS"}}])");
  EXPECT_EQ(chain.size_after({{8, 8, 8}}), (GridSize{8, 8, 8}));
  EXPECT_EQ(chain.size_after({{8, 9, 8}}), GridSize{});
}

TEST(SizeAfter, IsRefusedWhereTheVolumeWouldBe) {
  Extent singular{{8, 8, 8}, Affine{}};
  EXPECT_THROW(declared_chain(R"([{"Spacing": {"pixdim": 1}}])").size_after(singular), Error);
}

}  // namespace
}  // namespace larmor
