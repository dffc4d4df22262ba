#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/formats/nifti/nifti.h"
#include "larmor/formats/nifti/nifti_affine.h"

#include "tests/support/image_files.h"

namespace larmor {
namespace {

using testing::as_bytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::NiftiBytes;
using ::testing::SizeIs;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

NiftiHeader parse(const NiftiBytes& file) { return parse_nifti_header(as_bytes(file.whole()), "x.nii"); }

void expect_refused(const NiftiBytes& file, const std::string& reason) {
  try {
    parse(file);
    ADD_FAILURE() << "accepted; expected: " << reason;
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    EXPECT_THAT(error.message(), HasSubstr("x.nii"));
    EXPECT_THAT(error.message(), HasSubstr(reason));
  }
}

TEST(NiftiHeader, IsReadInBothVersionsAndByteOrders) {
  for (const int version : {1, 2}) {
    for (const bool big_endian : {false, true}) {
      const NiftiHeader header = parse(NiftiBytes(version, big_endian));
      EXPECT_EQ(header.version, version);
      EXPECT_EQ(header.big_endian, big_endian);
      EXPECT_FALSE(header.pair);
      EXPECT_THAT(header.shape, ElementsAre(2, 3, 4));
      EXPECT_THAT(header.pixdim, ElementsAre(1.5, 2, 3));
      EXPECT_EQ(nifti_type_name(header.datatype), "int16");
      EXPECT_EQ(header.voxel_offset, version == 1 ? 352U : 544U);
      EXPECT_THAT(header.problems, IsEmpty());
      EXPECT_EQ(header.raw.size(), version == 1 ? 348U : 540U);
    }
  }
}

TEST(NiftiHeader, WithoutFormsPutsTheCentreAtTheOriginAndXToTheLeft) {
  const Affine affine = parse(NiftiBytes()).affine;
  EXPECT_THAT(affine[0], ElementsAre(-1.5, 0, 0, 0.75));
  EXPECT_THAT(affine[1], ElementsAre(0, 2, 0, -2));
  EXPECT_THAT(affine[2], ElementsAre(0, 0, 3, -4.5));
}

TEST(NiftiHeader, TakesTheQuaternionWhenThereIsNoSform) {
  // Half a turn about z, and a left-handed third axis.
  const auto file = NiftiBytes()
                        .put(252, int16_t{1})
                        .put(264, 1.0F)
                        .put(76, -1.0F)
                        .put(268, 10.0F)
                        .put(272, 20.0F)
                        .put(276, 30.0F);
  const Affine affine = parse(file).affine;
  EXPECT_THAT(affine[0], ElementsAre(-1.5, 0, 0, 10));
  EXPECT_THAT(affine[1], ElementsAre(0, -2, 0, 20));
  EXPECT_THAT(affine[2], ElementsAre(0, 0, -3, 30));
}

NiftiBytes with_sform(NiftiBytes file, float x, float y, float z) {
  return file.put(254, int16_t{2}).put(280, x).put(300, y).put(320, z);
}

TEST(NiftiHeader, TakesTheSformBeforeTheQuaternionAndSaysWhenTheyDisagree) {
  NiftiBytes file = with_sform(NiftiBytes(), 1.5F, 2.0F, 3.0F);
  EXPECT_THAT(parse(file).problems, IsEmpty());
  file.put(252, int16_t{1});
  EXPECT_THAT(parse(file).problems, IsEmpty());
  file.put(268, 5.0F);
  const NiftiHeader header = parse(file);
  EXPECT_THAT(header.affine[0], ElementsAre(1.5, 0, 0, 0));
  EXPECT_THAT(header.problems, ElementsAre(HasSubstr("disagree by up to 5.00 mm")));
}

TEST(NiftiHeader, WarnsOfSpacingThatIsZeroOrNegative) {
  const NiftiHeader zero = parse(NiftiBytes().put(84, 0.0F));
  EXPECT_THAT(zero.problems, ElementsAre(HasSubstr("axis 2 is 0")));
  EXPECT_THAT(zero.pixdim, ElementsAre(1.5, 1, 3));
  const NiftiHeader negative = parse(NiftiBytes().put(80, -1.5F));
  EXPECT_THAT(negative.problems, SizeIs(1));
  EXPECT_EQ(negative.pixdim[0], 1.5);
  EXPECT_THAT(parse(NiftiBytes().put(92, 0.0F)).problems, IsEmpty()) << "an axis that the file does not have";
}

TEST(NiftiHeader, WarnsOfAnAffineThatIsSingularOrOfAnotherSpacing) {
  EXPECT_THAT(parse(with_sform(NiftiBytes(), 1.5F, 2.0F, 0.0F)).problems, ElementsAre(HasSubstr("singular")));
  EXPECT_THAT(parse(with_sform(NiftiBytes(), 1.5F, 2.5F, 3.0F)).problems,
              ElementsAre(HasSubstr("2.5000 mm along axis 2")));
}

TEST(NiftiHeader, HasNoScalingWhenTheSlopeIsZeroOrNotFinite) {
  for (const float slope : {0.0F, nan, std::numeric_limits<float>::infinity()}) {
    const NiftiHeader header = parse(NiftiBytes().put(112, slope).put(116, 7.0F));
    EXPECT_EQ(header.slope, 1);
    EXPECT_EQ(header.intercept, 0);
  }
  const NiftiHeader header = parse(NiftiBytes().put(112, 0.5F).put(116, -1024.0F));
  EXPECT_EQ(header.slope, 0.5);
  EXPECT_EQ(header.intercept, -1024);
}

TEST(NiftiHeader, RefusesWhatIsNoHeader) {
  for (const std::size_t size : {0U, 3U, 347U}) {
    EXPECT_THROW(parse_nifti_header(as_bytes(NiftiBytes().header.substr(0, size)), "x"), Error);
  }
  EXPECT_THROW(parse_nifti_header(as_bytes(NiftiBytes(2).header.substr(0, 539)), "x"), Error);
  expect_refused(NiftiBytes().put(0, int32_t{1090519807}), "does not begin like");
  NiftiBytes spoilt(2);
  spoilt.header[8] = '\n';  // a carriage return lost in text-mode copying
  expect_refused(spoilt, "does not begin like");
}

TEST(NiftiHeader, RefusesDimensionsThatCannotBe) {
  for (const int rank : {0, 8, -1, 32767})
    expect_refused(NiftiBytes().put(40, static_cast<int16_t>(rank)), "dimensions");
  for (const int size : {0, -1, -32768})
    expect_refused(NiftiBytes().put(44, static_cast<int16_t>(size)), "is not possible");
}

TEST(NiftiHeader, RefusesAProductThatOverflowsBeforeAllocatingAnything) {
  const int64_t huge = int64_t{1} << 20;
  expect_refused(NiftiBytes(2).put(24, huge).put(32, huge).put(40, huge),
                 "more than the 2 GiB");  // 2^60 voxels
  const int64_t wraps = int64_t{1} << 32;
  expect_refused(NiftiBytes(2).put(24, wraps).put(32, wraps).put(40, int64_t{1}),
                 "more than the 2 GiB");  // 2^64
  expect_refused(NiftiBytes(2).put(24, std::numeric_limits<int64_t>::max()), "more than the 2 GiB");
  expect_refused(NiftiBytes().put(42, int16_t{32767}).put(44, int16_t{32767}).put(46, int16_t{32767}),
                 "more than");
}

TEST(NiftiHeader, RefusesTypesThatAreNotSingleNumbersByName) {
  const struct {
    int16_t code, bits;
    const char* name;
  } rows[] = {{128, 24, "rgb24"},        {2304, 32, "rgba32"},    {32, 64, "complex64"},
              {1792, 128, "complex128"}, {1536, 128, "float128"}, {1, 1, "bit"}};
  for (const auto& [code, bits, name] : rows) {
    expect_refused(NiftiBytes().put(70, code).put(72, bits), name);
    EXPECT_EQ(nifti_type_name(code), "");
    EXPECT_EQ(nifti_code_name(code), name);
  }
  expect_refused(NiftiBytes().put(70, int16_t{2560}), "unknown data type 2560");
}

TEST(NiftiHeader, RefusesBitsThatDisagreeWithTheType) {
  expect_refused(NiftiBytes().put(72, int16_t{8}), "bitpix");
}

TEST(NiftiHeader, RefusesSpacingAndFormsThatAreNotFinite) {
  expect_refused(NiftiBytes().put(80, nan), "spacing nan along axis 1");
  expect_refused(with_sform(NiftiBytes(), nan, 1, 1), "not finite");
  expect_refused(NiftiBytes().put(252, int16_t{1}).put(268, nan), "not finite");
  expect_refused(NiftiBytes().put(112, 2.0F).put(116, nan), "intercept");
}

TEST(NiftiHeader, RefusesVoxelsThatStartWhereTheyCannot) {
  const float bad[] = {0, 351, 352.5F, -352, nan, std::numeric_limits<float>::infinity(), 1e30F};
  for (const float offset : bad) expect_refused(NiftiBytes().put(108, offset), "vox_offset");
  for (const int64_t offset : {int64_t{0}, int64_t{543}, int64_t{-1}, std::numeric_limits<int64_t>::min(),
                               std::numeric_limits<int64_t>::max()}) {
    expect_refused(NiftiBytes(2).put(168, offset), "vox_offset");
  }
}

TEST(NiftiHeader, ChecksExtensionsAgainstTheStartOfTheVoxels) {
  const auto with_extension = [](int32_t size, float offset) {
    NiftiBytes file;
    file.extension[0] = 1;
    file.extension += testing::published(size) + testing::published(int32_t{6}) + std::string(24, 'c');
    return file.put(108, offset);
  };
  EXPECT_NO_THROW(parse(with_extension(32, 384)));
  for (const int32_t size :
       {0, -16, 8, 17, 48, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    expect_refused(with_extension(size, 384), "extension");
  }
  expect_refused(with_extension(32, 368), "extension");
}

TEST(NiftiHeader, ShowsTheRestOfAFaultyHeaderWhenAsked) {
  const NiftiHeader header =
      scan_nifti_header(as_bytes(NiftiBytes().put(70, int16_t{128}).put(72, int16_t{24}).whole()));
  EXPECT_THAT(header.fault, HasSubstr("rgb24"));
  EXPECT_THAT(header.shape, ElementsAre(2, 3, 4));
  EXPECT_EQ(header.affine[0][0], -1.5);
}

TEST(NiftiQform, GivesBackEveryRotation) {
  // Axis permutations and flips reach all four branches of the conversion.
  for (int turn = 0; turn < 48; ++turn) {
    const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    Affine affine = identity_affine();
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 3; ++column) affine[row][column] = 0;
    }
    for (int axis = 0; axis < 3; ++axis)
      affine[order[turn / 8][axis]][axis] = (turn >> axis & 1 ? -1 : 1) * (axis + 0.5);
    affine[1][3] = 7;
    const Affine back = from_qform(to_qform(affine), spacing_of(affine));
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 4; ++column)
        EXPECT_NEAR(back[row][column], affine[row][column], 1e-6) << turn;
    }
  }
}

TEST(NiftiQform, KnowsShearThatItCannotHold) {
  Affine affine = identity_affine();
  EXPECT_FALSE(has_shear(affine));
  affine[0][1] = 0.1;
  EXPECT_TRUE(has_shear(affine));
}

}  // namespace
}  // namespace larmor
