#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/formats/nifti/nifti.h"
#include "larmor/formats/volume.h"

#include "tests/support/image_files.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NiftiBytes;
using testing::packed;
using testing::write_file;

class NiftiReading : public ::testing::Test {
 protected:
  std::filesystem::path put(const std::string& name, const std::string& bytes) {
    write_file(scratch_.path() / name, bytes);
    return scratch_.path() / name;
  }
  void expect_refused(const std::filesystem::path& path, const std::string& reason) {
    try {
      read_nifti(path);
      ADD_FAILURE() << "accepted; expected: " << reason;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::data);
      EXPECT_THAT(error.message(), HasSubstr(path.filename().string()));
      EXPECT_THAT(error.message(), HasSubstr(reason));
    }
  }
  ScratchFolder scratch_;
};

void expect_counting(const at::Tensor& voxels) {
  ASSERT_EQ(voxels.sizes(), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(voxels.scalar_type(), at::kFloat);
  // First axis fastest in the file.
  EXPECT_TRUE(voxels.permute({2, 1, 0}).flatten().equal(at::arange(24, at::kFloat)));
}

TEST_F(NiftiReading, GivesTheFirstAxisFastestInEveryVersionOrderAndPacking) {
  for (const int version : {1, 2}) {
    for (const bool big_endian : {false, true}) {
      const std::string bytes = NiftiBytes(version, big_endian).whole();
      expect_counting(read_nifti(put("a.nii", bytes)).voxels);
      expect_counting(read_nifti(put("a.nii.gz", packed(bytes))).voxels);
      expect_counting(read_nifti(put("packed_but_not_named_so.nii", packed(bytes))).voxels);
    }
  }
}

template <class Value>
void expect_type(const std::filesystem::path& path, int16_t code, std::vector<Value> values) {
  for (const bool big_endian : {false, true}) {
    NiftiBytes file(1, big_endian);
    file.put(70, code).put(72, static_cast<int16_t>(8 * sizeof(Value)));
    file.put(42, static_cast<int16_t>(values.size())).put(44, int16_t{1}).put(46, int16_t{1});
    write_file(path, file.voxels_of(values).whole());
    const at::Tensor voxels = read_nifti(path).voxels.flatten();
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(voxels[static_cast<int64_t>(i)].item<float>(), static_cast<float>(values[i]))
          << code << " " << i;
    }
    // Scaled in double, rounded once.
    write_file(path, file.put(112, 2.00784F).put(116, -0.1F).whole());
    const at::Tensor scaled = read_nifti(path).voxels.flatten();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double exact = static_cast<double>(values[i]) * double{2.00784F} + double{-0.1F};
      EXPECT_EQ(scaled[static_cast<int64_t>(i)].item<float>(), static_cast<float>(exact)) << code << " " << i;
    }
  }
}

TEST_F(NiftiReading, KnowsEveryTypeOfNumber) {
  const auto path = scratch_.path() / "typed.nii";
  expect_type<uint8_t>(path, 2, {0, 1, 127, 128, 255});
  expect_type<int8_t>(path, 256, {0, 1, 127, -128, -1});
  expect_type<int16_t>(path, 4, {0, 1, 32767, -32768, -1024});
  expect_type<uint16_t>(path, 512, {0, 1, 32768, 65535});
  expect_type<int32_t>(path, 8, {0, -1, 16777217, 2147483647});
  expect_type<uint32_t>(path, 768, {0, 1, 4294967295U});
  expect_type<int64_t>(path, 1024, {0, -1, (int64_t{1} << 53) + 1, INT64_MAX});
  expect_type<uint64_t>(path, 1280, {0, 1, UINT64_MAX});
  expect_type<float>(path, 16, {0.0F, -0.5F, 1e-38F, 3e38F});
  expect_type<double>(path, 64, {0.0, 0.1, -1e300, 1e-300});
}

TEST_F(NiftiReading, FindsTheOtherHalfOfAPairByName) {
  NiftiBytes pair;
  pair.put(108, 0.0F).header.replace(344, 4, std::string("ni1\0", 4));
  const auto header = put("a.hdr", pair.header);
  expect_refused(header, "a.img, which is not there");
  put("a.img", pair.voxels);
  expect_counting(read_nifti(header).voxels);
  expect_counting(read_nifti(scratch_.path() / "a.img").voxels);
  const auto packed_header = put("b.hdr.gz", packed(pair.header));
  put("b.img.gz", packed(pair.voxels));
  expect_counting(read_nifti(packed_header).voxels);
  const auto mixed = put("c.hdr", pair.header);
  put("c.img.gz", packed(pair.voxels));
  expect_counting(read_nifti(mixed).voxels);
  const auto capitals = put("D.HDR", pair.header);
  put("D.IMG", pair.voxels);
  expect_counting(read_nifti(capitals).voxels);
  const auto renamed = put("half.nii", pair.header);
  expect_refused(renamed, "one half of a pair");
}

TEST_F(NiftiReading, ReadsAnalyzePairsAsSpmDoes) {
  NiftiBytes analyze;
  analyze.put(108, 0.0F).put(112, 0.5F).put(344, int32_t{0});
  analyze.put(253, int16_t{2}).put(255, int16_t{1}).put(257, int16_t{3});
  const auto path = put("a.hdr", analyze.header);
  put("a.img", analyze.voxels);
  const NiftiFile file = read_nifti(path);
  EXPECT_EQ(file.header.version, 0);
  EXPECT_THAT(file.header.affine[0], ElementsAre(-1.5, 0, 0, 1.5));
  EXPECT_THAT(file.header.affine[1], ElementsAre(0, 2, 0, 0));
  EXPECT_THAT(file.header.affine[2], ElementsAre(0, 0, 3, -6));
  EXPECT_EQ(file.voxels[1][0][0].item<float>(), 0.5F);
}

TEST_F(NiftiReading, RefusesEveryTruncation) {
  const std::string whole = NiftiBytes().whole();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(read_nifti(put("short.nii", whole.substr(0, size))), Error) << size;
  }
  expect_refused(put("short.nii", whole.substr(0, whole.size() - 1)), "cut short");
  expect_refused(put("short.nii.gz", packed(whole.substr(0, whole.size() - 1))), "cut short");
}

TEST_F(NiftiReading, RefusesDimensionsThatTheFileDoesNotHave) {
  expect_refused(put("lying.nii", NiftiBytes().put(46, int16_t{5}).whole()), "claims 60 bytes of voxels");
  expect_refused(put("lying.nii.gz", packed(NiftiBytes().put(46, int16_t{30000}).whole())), "cut short");
  expect_refused(put("outside.nii", NiftiBytes().put(108, 1e6F).whole()), "from byte 1000000");
  expect_refused(put("outside.nii", NiftiBytes(2).put(168, int64_t{1} << 50).whole()), "cut short");
}

TEST_F(NiftiReading, SaysWhatLiesBehindTheVoxels) {
  EXPECT_THAT(read_nifti(put("long.nii", NiftiBytes().whole() + "tail")).header.problems,
              ElementsAre(HasSubstr("4 bytes behind the voxels")));
  EXPECT_THAT(read_nifti(put("long.nii.gz", packed(NiftiBytes().whole()) + "tail")).header.problems,
              ElementsAre(HasSubstr("behind the gzip data")));
}

TEST_F(NiftiReading, SaysWhatIsWrongWithAPathThatIsNoFile) {
  expect_refused(scratch_.path() / "absent.nii", "no such file");
  expect_refused(scratch_.path(), "is a folder");
  expect_refused(put("text.nii", std::string(5000, 'x')), "does not begin like");
}

TEST_F(NiftiReading, PutsTheChannelAxisOfAVolumeFirst) {
  NiftiBytes file;
  EXPECT_EQ(read_volume(put("three.nii", file.whole())).voxels.sizes(), (std::vector<int64_t>{1, 2, 3, 4}));
  file.put(40, int16_t{2}).put(44, int16_t{12});
  EXPECT_EQ(read_volume(put("two.nii", file.whole())).voxels.sizes(), (std::vector<int64_t>{1, 2, 12, 1}));
  file.put(40, int16_t{1}).put(42, int16_t{24});
  EXPECT_EQ(read_volume(put("one.nii", file.whole())).voxels.sizes(), (std::vector<int64_t>{1, 24, 1, 1}));
  file = NiftiBytes().put(40, int16_t{4});
  EXPECT_EQ(read_volume(put("one_of_four.nii", file.whole())).voxels.sizes(),
            (std::vector<int64_t>{1, 2, 3, 4}));
  file.put(46, int16_t{2}).put(48, int16_t{2});
  const Volume four = read_volume(put("four.nii", file.whole()));
  ASSERT_EQ(four.voxels.sizes(), (std::vector<int64_t>{2, 2, 3, 2}));
  EXPECT_EQ(four.voxels[1][1][0][0].item<float>(), 13);
  file.put(40, int16_t{5}).put(48, int16_t{1}).put(50, int16_t{2});
  EXPECT_EQ(read_volume(put("five.nii", file.whole())).voxels.sizes(), (std::vector<int64_t>{2, 2, 3, 2}));
  file.put(46, int16_t{1}).put(48, int16_t{2});
  EXPECT_THROW(read_volume(put("two_channel_axes.nii", file.whole())), Error);
  EXPECT_THROW(check_volume(scratch_.path() / "two_channel_axes.nii"), Error);
  EXPECT_NO_THROW(check_volume(scratch_.path() / "five.nii"));
}

}  // namespace
}  // namespace larmor
