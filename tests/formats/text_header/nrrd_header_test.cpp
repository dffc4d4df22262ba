#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/formats/text_header/text_header.h"

#include "tests/support/cases.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string nrrd_kind = "NRRD0004\ntype: int16\nencoding: raw\nendian: big\n";
const std::string nrrd_sizes = "dimension: 3\nsizes: 2 3 4\n";
const std::string nrrd_place =
    "space: left-posterior-superior\nspace directions: (0,2,0) (-1,0,0) (0,0,3)\nspace origin: (10,20,30)\n";

TextHeader nrrd_of(const std::string& lines) { return scan_nrrd_header(nrrd_kind + lines + '\n'); }
std::string nrrd_fault(const std::string& lines) {
  const auto error = testing::error_of([&] { nrrd_of(lines); });
  return error ? error->message() : "";
}

TEST(NrrdHeader, SaysSizesTypeAndPlace) {
  const TextHeader header = nrrd_of("# a comment\nkey:=a: b\n" + nrrd_sizes + nrrd_place);
  EXPECT_THAT(header.shape, ElementsAre(2, 3, 4));
  EXPECT_EQ(header.format.type, VoxelType::int16);
  EXPECT_TRUE(header.format.big_endian);
  EXPECT_EQ(header.data_file, "");
  const Affine expected = {{{0, 1, 0, -10}, {-2, 0, 0, -20}, {0, 0, 3, 30}, {0, 0, 0, 1}}};
  EXPECT_EQ(header.affine, expected);
  EXPECT_THAT(header.spacing_mm, ElementsAre(2, 1, 3));
  EXPECT_THAT(header.problems, IsEmpty());
  EXPECT_EQ(header.header_bytes,
            (nrrd_kind + "# a comment\nkey:=a: b\n" + nrrd_sizes + nrrd_place + '\n').size());
}

TEST(NrrdHeader, TurnsEverySpaceIntoRas) {
  const std::string directions =
      nrrd_sizes + "space directions: (1,0,0) (0,1,0) (0,0,1)\nspace origin: (1,2,3)\n";
  for (const auto& [space, signs] : {std::pair<const char*, std::array<double, 3>>{"RAS", {1, 1, 1}},
                                     {"right-anterior-superior", {1, 1, 1}},
                                     {"LAS", {-1, 1, 1}},
                                     {"LPS", {-1, -1, 1}},
                                     {"scanner-xyz", {-1, -1, 1}}}) {
    const TextHeader header = nrrd_of(text("space: ", space, '\n') + directions);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      EXPECT_EQ(header.affine[axis][axis], signs[axis]) << space;
      EXPECT_EQ(header.affine[axis][3], signs[axis] * static_cast<double>(axis + 1)) << space;
    }
  }
  EXPECT_THAT(nrrd_of("space: scanner-xyz\n" + directions).problems, Contains(HasSubstr("LPS is taken")));
  EXPECT_THAT(nrrd_fault("space: right-anterior-superior-time\n" + directions),
              HasSubstr("space of three axes"));
}

TEST(NrrdHeader, WithoutASpaceHasItsSpacings) {
  const TextHeader header = nrrd_of(nrrd_sizes + "spacings: 2 nan -3\n");
  EXPECT_THAT(header.spacing_mm, ElementsAre(2, 1, 3));
  EXPECT_EQ(header.affine[0][0], -2);
  EXPECT_EQ(header.affine[2][2], -3);
  EXPECT_THAT(header.problems, Contains(HasSubstr("no spacing along axis 2")));
  EXPECT_THAT(header.problems, Contains(HasSubstr("no space")));
}

TEST(NrrdHeader, PutsAnAxisThatIsNotOfSpaceWhereTheChannelIs) {
  const std::string space = "space: LPS\nspace origin: (0,0,0)\n";
  const TextHeader first =
      nrrd_of("dimension: 4\nsizes: 5 2 3 4\n" + space + "space directions: none (1,0,0) (0,1,0) (0,0,1)\n");
  EXPECT_TRUE(first.channel_is_first);
  EXPECT_THAT(first.shape, ElementsAre(5, 2, 3, 4));
  const TextHeader last =
      nrrd_of("dimension: 4\nsizes: 2 3 4 5\n" + space + "space directions: (1,0,0) (0,1,0) (0,0,1) none\n");
  EXPECT_FALSE(last.channel_is_first);
  EXPECT_THAT(last.shape, ElementsAre(2, 3, 4, 5));
  const TextHeader by_kind = nrrd_of("dimension: 3\nsizes: 2 3 4\nkinds: domain domain list\n");
  EXPECT_THAT(by_kind.shape, ElementsAre(2, 3, 1, 4));
  EXPECT_THAT(nrrd_fault("dimension: 4\nsizes: 2 3 5 4\n" + space +
                         "space directions: (1,0,0) (0,1,0) none (0,0,1)\n"),
              HasSubstr("between its axes"));
  EXPECT_THAT(nrrd_fault("dimension: 3\nsizes: 2 3 4\nkinds: complex domain domain\n"), HasSubstr("kinds"));
  EXPECT_THAT(nrrd_fault("dimension: 3\nsizes: 2 3 4\nkinds: list domain domain\n" + nrrd_place),
              HasSubstr("contradicts its kinds"));
}

TEST(NrrdHeader, SaysWhereTheVoxelsLie) {
  const TextHeader header = nrrd_of(nrrd_sizes + "data file: head.raw\nline skip: 2\nbyte skip: -1\n");
  EXPECT_EQ(header.data_file, "head.raw");
  EXPECT_EQ(header.lines_before, 2);
  EXPECT_EQ(header.bytes_before, -1);
  // The header of voxels that lie apart may end with its file.
  EXPECT_EQ(scan_nrrd_header(nrrd_kind + nrrd_sizes + "data file: head.raw").data_file, "head.raw");
  EXPECT_THAT(nrrd_fault(nrrd_sizes + "data file: LIST\n"), HasSubstr("several files"));
  EXPECT_THAT(nrrd_fault(nrrd_sizes + "data file: ../head.raw\n"), HasSubstr("named by a path"));
}

TEST(NrrdHeader, IsRefusedWhereItCannotBeUnderstood) {
  const std::string good = nrrd_sizes + nrrd_place;
  EXPECT_EQ(nrrd_fault(good), "");
  for (const auto& [lines, what] :
       {std::pair<std::string, const char*>{good + "space origim: (1,1,1)\n", "no field"},
        {good + "no field\n", "no field"},
        {nrrd_sizes + "spacings: \r1 1 1\n", "unprintable"},
        {good + "type: int16\n", "says type twice"},
        {good + "spacings: 1 1 1\n", "spacings and space directions"},
        {good + "axis mins: 0 0 0\n", "axis mins"},
        {good + "space units: \"cm\" \"cm\" \"cm\"\n", "space units"},
        {good + "byte skip: -2\n", "byte skip"},
        {good + "space dimension: 3\n", "space and space dimension"},
        {nrrd_place, "does not say its dimension"},
        {"dimension: 3\nsizes: 2 3\n", "has to be 3 numbers"},
        {"dimension: 3\nsizes: 2 3 =4\n", "no whole number"},
        {"dimension: 1\nsizes: 2\n", "number of axes"},
        {nrrd_sizes + "space: LPS\n", "no space directions"}})
    EXPECT_THAT(nrrd_fault(lines), HasSubstr(what)) << lines;
  for (const std::string begin : {"NRRD0006\n", "NRRD000\n", "NRRD00041\n"})
    EXPECT_THROW(scan_nrrd_header(begin + good + '\n'), Error) << begin;
  for (const std::string encoding : {"bzip2", "ascii", "hex", "zip"})
    EXPECT_THROW(scan_nrrd_header("NRRD0004\ntype: int8\nencoding: " + encoding + '\n' + good + '\n'), Error);
  EXPECT_THROW(scan_nrrd_header("NRRD0004\ntype: int16\nencoding: raw\n" + good + '\n'), Error)
      << "no endian";
  EXPECT_NO_THROW(scan_nrrd_header("NRRD0004\ntype: uchar\nencoding: raw\n" + good + '\n'));
}

TEST(NrrdHeader, TellsWhatItLeavesOut) {
  const TextHeader header = nrrd_of(
      nrrd_sizes + nrrd_place + "measurement frame: (1,0,0) (0,1,0) (0,0,1)\nold min: 0\nold max: 4095\n");
  EXPECT_THAT(header.problems, ElementsAre(HasSubstr("quantised"), HasSubstr("measurement frame")));
}

TEST(NrrdHeader, IsToldByItsFirstBytes) {
  EXPECT_TRUE(looks_like_nrrd(testing::as_bytes("NRRD0001\n")));
  EXPECT_FALSE(looks_like_nrrd(testing::as_bytes("NRRD")));
  EXPECT_FALSE(looks_like_nrrd(testing::as_bytes("NDims = 3\n")));
}

}  // namespace
}  // namespace larmor
