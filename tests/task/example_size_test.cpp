#include "larmor/task/example_size.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/formats/volume.h"

#include "tests/task/support/phantoms.h"

namespace larmor {
namespace {

using Sizes = std::vector<int64_t>;

RunConfig phantoms_with(const char* chain) {
  RunConfig config = testing::phantoms(chain);
  config.data.phantom_size = {34, 51, 68};  // voxels of 6, 4 and 3 mm
  return config;
}

Sizes largest_of(const char* chain) {
  const RunConfig config = phantoms_with(chain);
  return largest_case(config, make_index(config.data, 1), extent_of_phantoms(config.data));
}

TEST(LargestCase, HasTheSizeThatTransformsLeaveWithoutCropsOfTraining) {
  EXPECT_EQ(largest_of("[]"), (Sizes{34, 51, 68}));
  EXPECT_EQ(largest_of(R"([{"RandSpatialCrop": {"roi_size": [8, 8, 8]}}])"), (Sizes{34, 51, 68}));
  EXPECT_EQ(largest_of(R"([{"Spacing": {"pixdim": [3, 4, 6]}}])"), (Sizes{67, 51, 34})) << "as MONAI counts";
  EXPECT_EQ(largest_of(R"([{"Resized": {"spatial_size": [32, 32, 16]}}])"), (Sizes{32, 32, 16}));
  EXPECT_EQ(largest_of(R"([{"SpatialPad": {"spatial_size": [48, 48, 48]}}])"), (Sizes{48, 51, 68}));
}

TEST(ConfiguredSize, IsWhatTheChainLeavesOfInventedVolumes) {
  const auto size = [](const char* chain) {
    const RunConfig config = phantoms_with(chain);
    return configured_size(config, extent_of_phantoms(config.data));
  };
  EXPECT_EQ(size("[]"), (Sizes{34, 51, 68}));
  EXPECT_EQ(size(R"([{"RandSpatialCrop": {"roi_size": [8, 8, 16], "validation_roi_size": 32}}])"),
            (Sizes{8, 8, 16}));
  EXPECT_EQ(size(R"([{"Resize": {"spatial_size": [32, -1, 16]}}, {"RandSpatialCrop": {"roi_size": 24}}])"),
            (Sizes{24, 24, 16}));
}

TEST(ConfiguredSize, IsSixtyFourWhereTheConfigSaysNothing) {
  RunConfig config = phantoms_with(R"([{"RandSpatialCrop": {"roi_size": [96, -1, 16]}}])");
  config.data.kind = "nifti";
  EXPECT_EQ(configured_size(config, extent_of_phantoms(config.data)), (Sizes{96, 64, 16}));
}

/// A folder of NIfTI files of these sizes, of which nothing but headers is read.
class SizeOfExample : public ::testing::Test {
 protected:
  Sizes of(const std::vector<Sizes>& volumes, const char* chain, int64_t divisor = 1,
           const Affine& affine = identity_affine()) {
    RunConfig config;
    config.data.folder = scratch_.path().string();
    config.data.kind = "nifti";
    config.data.split.train = 1;
    config.data.split.val = config.data.split.test = 0;
    config.data.transforms = parse_json(chain, "chain");
    DiskStorage storage;
    for (size_t i = 0; i < volumes.size(); ++i) {
      const auto patient = scratch_.path() / ("p" + std::to_string(i));
      storage.create_folders(patient);
      const Sizes& size = volumes[i];
      write_nifti(storage, patient / "t1.nii.gz",
                  {.voxels = at::zeros({1, size[0], size[1], size[2]}), .affine = affine});
    }
    return size_of_example(config, make_index(config.data, 1), extent_of_phantoms(config.data), divisor);
  }

 private:
  ScratchFolder scratch_;
};

TEST_F(SizeOfExample, IsThatOfTheLargestFileWhereNoCropSaysIt) {
  EXPECT_EQ(of({{20, 30, 10}, {40, 18, 26}, {8, 8, 8}}, "[]"), (Sizes{40, 18, 26}));
}

TEST_F(SizeOfExample, IsWhatTransformsLeaveOfIt) {
  EXPECT_EQ(of({{40, 18, 26}}, R"([{"Spacing": {"pixdim": [2, 1, 0.5]}}])"), (Sizes{20, 18, 51}));
  EXPECT_EQ(of({{40, 18, 26}}, R"([{"RandSpatialCrop": {"roi_size": [16, -1, 16]}}])"), (Sizes{16, 18, 16}));
  EXPECT_EQ(of({{40, 18, 26}}, R"([{"RandSpatialCrop": {"roi_size": [64, -1, 16]}}])"), (Sizes{40, 18, 16}));
}

TEST_F(SizeOfExample, GoesByTheAxesOfTheBodyWhereTheyAreTurned) {
  Affine sagittal{};
  sagittal[1][0] = sagittal[2][1] = sagittal[0][2] = sagittal[3][3] = 1;
  EXPECT_EQ(of({{40, 18, 26}}, R"([{"Orientation": {"axcodes": "RAS"}}])", 1, sagittal), (Sizes{26, 40, 18}));
}

TEST_F(SizeOfExample, IsAMultipleOfWhatTheNetworkNeeds) {
  EXPECT_EQ(of({{40, 18, 26}}, "[]", 8), (Sizes{40, 24, 32}));
}

TEST_F(SizeOfExample, IsAsConfiguredWhereACropOrVoxelsDecide) {
  EXPECT_EQ(of({{40, 18, 26}}, R"([{"RandSpatialCrop": {"roi_size": [16, 16, 16]}}])"), (Sizes{16, 16, 16}));
  EXPECT_EQ(of({{40, 18, 26}}, R"([{"CropForeground": {}}])"), (Sizes{64, 64, 64}));
}

}  // namespace
}  // namespace larmor
