#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/text_header/text_header.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string meta_kind =
    "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = True\nElementType = "
    "MET_SHORT\n";
const std::string meta_place =
    "TransformMatrix = 0 1 0 -1 0 0 0 0 1\nOffset = 10 20 30\nCenterOfRotation = 0 0 0\nElementSpacing = 2 1 "
    "3\n";
const std::string meta_end = "DimSize = 2 3 4\nElementDataFile = LOCAL\n";

std::string meta_fault(const std::string& file) {
  const auto error = testing::error_of([&] { scan_metaimage_header(file); });
  return error ? error->message() : "";
}

TEST(MetaImageHeader, SaysSizesTypeAndPlace) {
  const TextHeader header =
      scan_metaimage_header(meta_kind + "Of whoever = wrote it\n" + meta_place + meta_end + "\1");
  EXPECT_THAT(header.shape, ElementsAre(2, 3, 4));
  EXPECT_EQ(header.format.type, VoxelType::int16);
  EXPECT_TRUE(header.format.big_endian);
  const Affine expected = {{{0, 1, 0, -10}, {-2, 0, 0, -20}, {0, 0, 3, 30}, {0, 0, 0, 1}}};
  EXPECT_EQ(header.affine, expected);
  EXPECT_THAT(header.spacing_mm, ElementsAre(2, 1, 3));
  EXPECT_THAT(header.problems, IsEmpty());
  EXPECT_EQ(header.header_bytes, (meta_kind + "Of whoever = wrote it\n" + meta_place + meta_end).size());
}

TEST(MetaImageHeader, HasOtherSpellingsOfItsKeys) {
  const TextHeader header = scan_metaimage_header(
      "NDims: 3\r\nElementByteOrderMSB=1\r\nElementType = MET_LONG\r\nPosition = 1 2 3\r\nOrientation = 1 0 "
      "0 0 1 0 0 0 1\r\n"
      "ElementSize = 4 5 6\r\nDimSize = 2 3 4\r\nElementDataFile = Local\r\n");
  EXPECT_EQ(header.format.type, VoxelType::int32);
  EXPECT_TRUE(header.format.big_endian);
  EXPECT_EQ(header.affine[0][3], -1);
  EXPECT_THAT(header.spacing_mm, ElementsAre(4, 5, 6));
}

TEST(MetaImageHeader, PutsChannelsWhereTheFileHasThem) {
  const TextHeader first =
      scan_metaimage_header(meta_kind + meta_place + "ElementNumberOfChannels = 5\n" + meta_end);
  EXPECT_TRUE(first.channel_is_first);
  EXPECT_THAT(first.shape, ElementsAre(5, 2, 3, 4));
  const std::string four = "NDims = 4\nElementType = MET_UCHAR\nDimSize = 2 3 4 5\n";
  EXPECT_THAT(scan_metaimage_header(four + "ElementDataFile = LOCAL\n").shape, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(meta_fault(four + "ElementNumberOfChannels = 2\nElementDataFile = LOCAL\n"),
              HasSubstr("one of the two"));
  EXPECT_THAT(
      meta_fault(four + "TransformMatrix = 1 0 0 1 0 1 0 0 0 0 1 0 0 0 0 1\nElementDataFile = LOCAL\n"),
      HasSubstr("fourth axis"));
}

TEST(MetaImageHeader, SaysWhereTheVoxelsLie) {
  const TextHeader header = scan_metaimage_header(meta_kind +
                                                  "HeaderSize = 7\nCompressedData = True\nCompressedDataSize "
                                                  "= 99\nDimSize = 2 3 4\nElementDataFile = a.zraw\n");
  EXPECT_EQ(header.data_file, "a.zraw");
  EXPECT_EQ(header.bytes_before, 7);
  EXPECT_EQ(header.packing, VoxelPacking::zlib);
  EXPECT_EQ(header.packed_bytes, 99U);
  const std::string before = meta_kind + "DimSize = 2 3 4\n";
  EXPECT_THAT(meta_fault(before + "ElementDataFile = LIST\n"), HasSubstr("several files"));
  EXPECT_THAT(meta_fault(before + "ElementDataFile = slice%03d.raw 1 4 1\n"), HasSubstr("several files"));
  EXPECT_THAT(meta_fault(before + "ElementDataFile = /data/head.raw\n"), HasSubstr("named by a path"));
}

TEST(MetaImageHeader, SaysWhatIsTakenForAnAbsentPlace) {
  const TextHeader header = scan_metaimage_header(meta_kind + meta_end);
  EXPECT_THAT(header.problems, ElementsAre(HasSubstr("no ElementSpacing"), HasSubstr("no Offset"),
                                           HasSubstr("no TransformMatrix")));
  EXPECT_EQ(header.affine[0][0], -1);
}

TEST(MetaImageHeader, IsRefusedWhereItCannotBeUnderstood) {
  EXPECT_EQ(meta_fault(meta_kind + meta_place + meta_end), "");
  for (const auto& [lines, what] :
       {std::pair<std::string, const char*>{"Offset = 1 1 1\n", "says Offset twice"},
        {"Position = 1 1 1\n", "says Offset twice"},
        {"BinaryData = True\n", "says BinaryData twice"},
        {"CompressedData = Tru\n", "neither True nor False"},
        {"ElementToIntensityFunctionSlope = 2\n", "are to be scaled"},
        {"DistanceUnits = cm\n", "DistanceUnits"},
        {"DistanceUnots = cm\n", "nearly DistanceUnits"},
        {"ElementSpacing < 2 1 3\n", "no key with a value"},
        {std::string("Key\0 = 1\n", 9), "unprintable"},
        {"HeaderSize = 4\n", "HeaderSize"},
        {"ElementNumberOfChannels = 0\n", "below 1"}})
    EXPECT_THAT(meta_fault(meta_kind + meta_place + lines + meta_end), HasSubstr(what)) << lines;
  EXPECT_THAT(meta_fault(meta_kind + "DimSize = 2 3.5 4\nElementDataFile = LOCAL\n"),
              HasSubstr("no whole number"));
  EXPECT_THAT(meta_fault(meta_kind + "DimSize = 2 3\nElementDataFile = LOCAL\n"), HasSubstr("3 numbers"));
  EXPECT_THAT(meta_fault(meta_kind + "DimSize = 2 3 4\n"), HasSubstr("does not end"));
  EXPECT_THAT(meta_fault("ObjectType = Tube\nNDims = 3\n" + meta_end), HasSubstr("no image"));
  EXPECT_THAT(meta_fault("NDims = 3\nElementType = MET_SHORT\n" + meta_end),
              HasSubstr("BinaryDataByteOrderMSB"));
  EXPECT_THAT(meta_fault("NDims = 3\nElementType = MET_SHORT_ARRAY\n" + meta_end), HasSubstr("ElementType"));
}

TEST(MetaImageHeader, IsToldByItsFirstLines) {
  for (const char* begin :
       {"ObjectType = Image\n", "NDims = 3\nrest", "NDims=3\n", "Comment = by hand\nNDims = 3\n"})
    EXPECT_TRUE(looks_like_metaimage(testing::as_bytes(begin))) << begin;
  for (const char* begin : {"", "NDims", "hello\nNDims = 3\n", "key = value\nNDims = 3\n", "NRRD0004\n"})
    EXPECT_FALSE(looks_like_metaimage(testing::as_bytes(begin))) << begin;
}

}  // namespace
}  // namespace larmor
