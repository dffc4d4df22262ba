#include "larmor/transforms/reading_steps.h"

#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/transforms/transforms.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace larmor {
namespace {

using testing::error_of;

PictureReading reading_of(const std::string& chain) { return picture_reading(Json::parse(chain)); }

TEST(PictureReading, IsAsSmallAsAnAveragingFirstStepMakesIt) {
  const PictureReading small{.grey = false, .size = {64, 32}};
  EXPECT_EQ(reading_of(R"([{"Resize": {"spatial_size": [64, 32]}}])"), small);
  EXPECT_EQ(reading_of(R"([{"Resized": {"spatial_size": [64, 32, 1], "mode": "area", "keys": ["image"]}}])"),
            small);
  EXPECT_EQ(reading_of(R"(["LoadImage", "EnsureChannelFirst", {"Resize": {"spatial_size": [64, 32, -1]}}])"),
            small);
}

TEST(PictureReading, StaysWholeForEveryOtherFirstStep) {
  for (const char* const chain :
       {R"([])", R"(null)", R"([7, {"Resize": {"spatial_size": [64, 32]}}])",
        R"([{"Resize": {"spatial_size": [64, 32], "mode": "trilinear"}}])",
        R"([{"Resize": {"spatial_size": [64, 32], "keys": "label"}}])",
        R"([{"Resize": {"spatial_size": [64, -1]}}])", R"([{"Resize": {"spatial_size": [64, 32, 32]}}])",
        R"([{"Resize": {"spatial_size": 64}}])", R"([{"Resize": {"spatial_size": ["a", 3]}}])",
        R"([{"Resize": null}])", R"([{"Clip": {"min": 3}}, {"Resize": {"spatial_size": [64, 32]}}])"}) {
    EXPECT_EQ(reading_of(chain), PictureReading{}) << chain;
  }
}

TEST(PictureReading, IsGreyWhenLoadImageConvertsSo) {
  EXPECT_TRUE(reading_of(R"([{"LoadImage": {"converter": "L"}}])").grey);
  EXPECT_FALSE(reading_of(R"(["LoadImage"])").grey);
  const auto error =
      error_of([] { TransformChain(Json::parse(R"([{"LoadImage": {"converter": "CMYK"}}])")); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::usage);
}

TEST(PictureReading, ChangesNothingThatTheChainMakes) {
  const ScratchFolder scratch;
  const auto path = scratch.path() / "a.jpg";
  testing::write_file(path, testing::jpeg_of(121, 75, 3));
  const Json chain = Json::parse(
      R"([{"Resize": {"spatial_size": [50, 40]}}, {"NormalizeIntensity": {"subtrahend": 127, "divisor": 99}}])");
  const TransformChain transforms(chain);
  const auto whole = transforms.apply({{"image", read_volume(path)}}, {});
  const auto small = transforms.apply({{"image", read_volume(path, picture_reading(chain))}}, {});
  EXPECT_EQ(small.at("image").voxels.sizes(), (std::vector<int64_t>{3, 50, 40, 1}));
  EXPECT_TRUE(at::allclose(small.at("image").voxels, whole.at("image").voxels, 0, 1e-6));
  for (std::size_t row = 0; row < 4; ++row) {
    for (std::size_t column = 0; column < 4; ++column) {
      EXPECT_NEAR(small.at("image").affine[row][column], whole.at("image").affine[row][column], 1e-12);
    }
  }
}

}  // namespace
}  // namespace larmor
