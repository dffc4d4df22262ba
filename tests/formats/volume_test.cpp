#include "larmor/formats/volume.h"

#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

class ReadVolume : public ::testing::Test {
 protected:
  std::filesystem::path written(float odd) {
    Volume volume;
    volume.voxels = at::arange(60, at::kFloat).reshape({1, 3, 4, 5});
    volume.voxels[0][1][2][3] = odd;
    DiskStorage storage;
    write_nifti(storage, scratch_.path() / "a.nii", volume);
    return scratch_.path() / "a.nii";
  }
  ScratchFolder scratch_;
};

TEST_F(ReadVolume, RefusesVoxelsThatAreNoNumbers) {
  using Limits = std::numeric_limits<float>;
  for (const float odd : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
    const auto path = written(odd);
    const auto error = testing::error_of([&] { read_volume(path); });
    ASSERT_TRUE(error) << odd;
    EXPECT_EQ(error->exit(), Exit::data);
    EXPECT_THAT(error->message(), HasSubstr("a.nii: holds 1 voxel that is NaN or infinite"));
    EXPECT_TRUE(inspect_file(path).readable) << "to be looked at it is good enough";
  }
}

TEST_F(ReadVolume, TakesTheLargestNumbers) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_EQ(read_volume(written(largest)).voxels.max().item<float>(), largest);
}

}  // namespace
}  // namespace larmor
