#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/hash.h"
#include "larmor/formats/volume.h"

#include "tests/support/image_files.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NiftiBytes;
using testing::published;
using ::testing::SizeIs;
using testing::write_file;

class Inspecting : public ::testing::Test {
 protected:
  FileReport inspect(const std::string& bytes) {
    write_file(scratch_.path() / "file", bytes);
    return inspect_file(scratch_.path() / "file");
  }
  ScratchFolder scratch_;
};

template <class Value>
std::string hash_of(const std::vector<Value>& values) {
  std::string bytes;
  for (const Value value : values) bytes += published(static_cast<float>(value));
  return sha256(bytes);
}

TEST_F(Inspecting, ReportsShapeSpacingAffineTypeAndValues) {
  const FileReport report = inspect(NiftiBytes().put(112, 0.1F).put(116, -1.0F).whole());
  EXPECT_TRUE(report.readable);
  EXPECT_THAT(report.shape, ElementsAre(2, 3, 4));
  EXPECT_THAT(report.spacing_mm, ElementsAre(1.5, 2, 3));
  EXPECT_EQ(report.affine[0][0], -1.5);
  EXPECT_EQ(report.dtype, "int16");
  EXPECT_DOUBLE_EQ(report.min, -1);
  EXPECT_DOUBLE_EQ(report.max, 23 * double{0.1F} - 1);
  EXPECT_NEAR(report.mean, 11.5 * double{0.1F} - 1, 1e-12);
  std::vector<double> values;
  for (int i = 0; i < 24; ++i) values.push_back(i * double{0.1F} - 1);
  EXPECT_EQ(report.sha256, hash_of(values));
  EXPECT_THAT(report.problems, IsEmpty());
}

TEST_F(Inspecting, KeepsTrailingAxesOfOneInTheShape) {
  EXPECT_THAT(inspect(NiftiBytes().put(40, int16_t{5}).whole()).shape, ElementsAre(2, 3, 4, 1, 1));
}

TEST_F(Inspecting, WarnsOfVoxelsThatAreNoNumbersAndLeavesThemOut) {
  NiftiBytes file;
  file.put(70, int16_t{16}).put(72, int16_t{32}).put(42, int16_t{4}).put(44, int16_t{1}).put(46, int16_t{1});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const FileReport some = inspect(file.voxels_of(std::vector<float>{nan, 1, 2, nan}).whole());
  EXPECT_TRUE(some.readable);
  EXPECT_EQ(some.mean, 1.5);
  EXPECT_THAT(some.problems,
              ElementsAre("2 voxels are NaN of 4, the first at [0, 0, 0]; training and predict take "
                          "the file for a bad one"));
  const float inf = std::numeric_limits<float>::infinity();
  const FileReport infinite = inspect(file.voxels_of(std::vector<float>{1, 3, inf, -inf}).whole());
  EXPECT_EQ(infinite.min, 1);
  EXPECT_EQ(infinite.max, 3);
  EXPECT_THAT(infinite.problems,
              ElementsAre(AllOf(HasSubstr("2 voxels are infinite of 4"), HasSubstr("at [2, 0, 0]"))));
  const FileReport both = inspect(file.voxels_of(std::vector<float>{5, 5, nan, inf}).whole());
  EXPECT_THAT(both.problems, ElementsAre(HasSubstr("1 voxel is NaN and 1 voxel is infinite of 4"),
                                         HasSubstr("all other voxels are 5")));
}

TEST_F(Inspecting, CannotReadWhatHoldsNoNumber) {
  NiftiBytes file;
  file.put(70, int16_t{16}).put(72, int16_t{32}).put(42, int16_t{4}).put(44, int16_t{1}).put(46, int16_t{1});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const FileReport all = inspect(file.voxels_of(std::vector<float>{nan, nan, nan, nan}).whole());
  EXPECT_TRUE(std::isnan(all.mean));
  EXPECT_FALSE(all.readable) << "training would read none of it";
  EXPECT_THAT(all.problems, ElementsAre("holds no finite number: of 4 voxels 4 voxels are NaN"));
  EXPECT_THAT(all.shape, ElementsAre(4, 1, 1));
  EXPECT_NE(all.remedy, "");
  EXPECT_THROW(read_volume(scratch_.path() / "file"), Error);
}

TEST_F(Inspecting, WarnsOfOneValueAndOfSpacingsThatNoBodyHas) {
  std::vector<int16_t> same(24, 7);
  EXPECT_THAT(inspect(NiftiBytes().voxels_of(same).whole()).problems,
              ElementsAre(HasSubstr("all voxels are 7")));
  NiftiBytes metres;
  for (const std::size_t axis : {80, 84, 88}) metres.put(axis, 0.0001F);
  for (const std::size_t form : {252, 254}) metres.put(form, int16_t{0});
  const auto report = inspect(metres.whole());
  EXPECT_TRUE(report.readable);
  EXPECT_THAT(report.problems,
              ElementsAre(HasSubstr("spacing along axis 1"), HasSubstr("spacing along axis 2"),
                          HasSubstr("is it in millimetres?")));
}

TEST_F(Inspecting, PutsTheReasonFirstAndStillShowsTheRestWhenThereAreNoVoxels) {
  const FileReport colour =
      inspect(NiftiBytes().put(84, 0.0F).put(70, int16_t{128}).put(72, int16_t{24}).whole());
  EXPECT_FALSE(colour.readable);
  ASSERT_THAT(colour.problems, SizeIs(2));
  EXPECT_THAT(colour.problems[0], HasSubstr("rgb24"));
  EXPECT_THAT(colour.problems[1], HasSubstr("spacing"));
  EXPECT_THAT(colour.shape, ElementsAre(2, 3, 4));
  EXPECT_EQ(colour.dtype, "rgb24");
  EXPECT_EQ(colour.sha256, "");
  const FileReport truncated = inspect(NiftiBytes().whole().substr(0, 380));
  EXPECT_FALSE(truncated.readable);
  EXPECT_THAT(truncated.problems, ElementsAre(HasSubstr("cut short")));
  EXPECT_THAT(truncated.shape, ElementsAre(2, 3, 4));
  const FileReport nothing = inspect("");
  EXPECT_FALSE(nothing.readable);
  EXPECT_THAT(nothing.problems, SizeIs(1));
  EXPECT_THAT(inspect_file(scratch_.path() / "absent").problems, ElementsAre(HasSubstr("no such file")));
}

TEST_F(Inspecting, HashesArraysWithTheFirstAxisFastestToo) {
  const std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }\n";
  std::string bytes =
      std::string("\x93NUMPY\x01\x00", 8) + published(static_cast<uint16_t>(header.size())) + header;
  for (int16_t i = 0; i < 6; ++i) bytes += published(i);
  const FileReport report = inspect(bytes);
  EXPECT_TRUE(report.readable);
  EXPECT_THAT(report.shape, ElementsAre(2, 3));
  EXPECT_EQ(report.dtype, "int16");
  EXPECT_EQ(report.mean, 2.5);
  EXPECT_EQ(report.sha256, hash_of(std::vector<int>{0, 3, 1, 4, 2, 5}));
}

TEST_F(Inspecting, BecomesTheKeysOfTheCommandLine) {
  const Json json = to_json(inspect(NiftiBytes().whole()), "a.nii");
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("path", "shape", "spacing_mm", "affine", "dtype", "min", "max", "mean",
                                "sha256", "problems"));
  EXPECT_EQ(json["affine"].size(), 4U);
  EXPECT_EQ(json["affine"][2][2], 3.0);
}

}  // namespace
}  // namespace larmor
