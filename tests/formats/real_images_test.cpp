// Every readable NIfTI file of the shared folder, against what nibabel 5.4 says of it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/formats/volume.h"

#include "tests/support/image_files.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

/// What nibabel says of each file: places of the first and the last voxel in mm, SHA-256 of the voxels.
Json expected_files() {
  const char* source = std::getenv("LARMOR_SOURCE");
  const std::filesystem::path root = source == nullptr ? "." : source;
  return read_json(root / "tests" / "formats" / "fixtures" / "real_images.json");
}

class RealImages : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::shared_data().empty()) GTEST_SKIP() << "the folder of real images is not on this machine";
  }
};

TEST_F(RealImages, AreReadAsNibabelReadsThem) {
  for (const Json& expected : expected_files()) {
    const auto path = expected.at("path").get<std::string>();
    SCOPED_TRACE(path);
    const FileReport report = inspect_file(testing::shared_data() / path);
    EXPECT_TRUE(report.readable) << ::testing::PrintToString(report.problems);
    EXPECT_EQ(report.shape, expected.at("shape").get<std::vector<int64_t>>());
    EXPECT_EQ(report.dtype, expected.at("dtype").get<std::string>());
    EXPECT_EQ(report.sha256, expected.at("sha256").get<std::string>());
    const auto number = [&](const char* key) { return expected.at(key).get<double>(); };
    EXPECT_NEAR(report.min, number("min"), 1e-6 * std::abs(number("min")));
    EXPECT_NEAR(report.max, number("max"), 1e-6 * std::abs(number("max")));
    EXPECT_NEAR(report.mean, number("mean"), 1e-9 * std::max(1.0, std::abs(number("mean"))));
    std::array<double, 3> index{};
    for (std::size_t axis = 0; axis < std::min<std::size_t>(3, report.shape.size()); ++axis) {
      EXPECT_NEAR(report.spacing_mm[axis], expected.at("spacing_mm")[axis].get<double>(), 1e-6);
      index[axis] = static_cast<double>(report.shape[axis] - 1);
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      EXPECT_NEAR(position(report.affine, {})[axis], expected.at("first_voxel")[axis].get<double>(), 1e-4);
      EXPECT_NEAR(position(report.affine, index)[axis], expected.at("last_voxel")[axis].get<double>(), 1e-4);
    }
  }
}

TEST_F(RealImages, ThatCannotBeVolumesAreRefusedByReason) {
  const struct {
    const char* path;
    const char* reason;
  } rows[] = {
      {"odd/nibabel/analyze75_be_without_img.hdr", "not there"},
      {"odd/nibabel/nifti1_hdr_without_img.hdr", "not there"},
      {"odd/nibabel/nifti2_hdr_without_img.hdr", "not there"},
      {"odd/nifti_rs/avg152T1_LR_hdr_without_img.hdr.gz", "not there"},
      {"odd/nifti_rs/complex64_2d.nii", "complex64"},
      {"odd/nifti_rs/complex128_2d.nii", "complex128"},
      {"odd/nifti_rs/rgb24_3d.nii", "rgb24"},
      {"odd/nifti_rs/rgba32_4d.nii", "rgba32"},
      {"odd/totalseg/spine_report_rgb24_2d.nii.gz", "rgb24"},
      {"odd/nifti_rs/fuzz_crash_08123ef3.nii", "does not begin like"},
      {"odd/nifti_rs/fuzz_crash_d03c6346.nii", "does not begin like"},
      {"odd/nifti_rs/fuzz_crash_ed7d4634.nii", "does not begin like"},
      {"odd/nibabel/cifti2_row_major.dconn.nii", "more than one axis of channels"},
  };
  for (const auto& [path, reason] : rows) {
    SCOPED_TRACE(path);
    try {
      read_volume(testing::shared_data() / path);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::data);
      EXPECT_THAT(error.message(), HasSubstr(reason));
    }
    EXPECT_THROW(check_volume(testing::shared_data() / path), Error);
  }
}

TEST_F(RealImages, OfSixDimensionsAreStillReported) {
  const FileReport report = inspect_file(testing::shared_data() / "odd/nibabel/cifti2_row_major.dconn.nii");
  EXPECT_TRUE(report.readable);
  EXPECT_EQ(report.shape, (std::vector<int64_t>{1, 1, 1, 1, 10, 10}));
}

}  // namespace
}  // namespace larmor
