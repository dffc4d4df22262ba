#include "larmor/formats/dicom/dicom_header.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using testing::DicomBytes;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::owned;
using testing::rle_lossless;

DicomHeader header_of(const DicomBytes& file) { return parse_dicom(owned(file.whole())).header; }

TEST(DicomHeader, TellsShapeEncodingAndPlace) {
  for (const char* syntax : {testing::explicit_little, testing::implicit_little, testing::explicit_big,
                             testing::deflated_little}) {
    SCOPED_TRACE(syntax);
    const DicomHeader header = header_of(DicomBytes(syntax));
    EXPECT_EQ(header.columns, 3);
    EXPECT_EQ(header.rows, 2);
    EXPECT_EQ(header.frames, 1);
    EXPECT_EQ(header.modality, "CT");
    EXPECT_EQ(header.series, "1.2.3");
    EXPECT_EQ(voxel_type_of(header), VoxelType::uint16);
    EXPECT_THAT(*header.plane.position, ElementsAre(10, 20, 30));
    EXPECT_THAT(*header.plane.spacing, ElementsAre(0.75, 0.5));
    EXPECT_EQ(fault_of(header), "");
  }
}

TEST(DicomHeader, TakesAnEmptyNumberForNone) {
  const DicomHeader header = header_of(DicomBytes().put(0x00180050, "DS", "").put(0x00280030, "DS", " "));
  EXPECT_EQ(fault_of(header), "");
  EXPECT_FALSE(header.plane.thickness);
  EXPECT_FALSE(header.plane.spacing);
  EXPECT_EQ(header_of(DicomBytes().put(0x00180050, "DS", " +1.5e0 ")).plane.thickness, 1.5);
}

TEST(DicomHeader, KeepsWhatEachFrameSaysOfItself) {
  DicomBytes file;
  std::string frames;
  for (const char* place : {"1\\2\\3 ", "1\\2\\5 "}) {
    frames += file.item(file.element(0x00209113, "SQ", file.item(file.element(0x00200032, "DS", place))));
  }
  file.put(0x00280008, "IS", "2").put(0x52009230, "SQ", frames).drop(0x00200032);
  const DicomHeader header = header_of(file);
  ASSERT_EQ(header.frame_planes.size(), 2U);
  EXPECT_EQ((*header.plane_of(1).position)[2], 5);
  EXPECT_TRUE(header.plane_of(1).orientation) << "said of all frames";
}

TEST(DicomHeader, DoesNotBelieveWhatAVendorRepeatsElsewhere) {
  DicomBytes file;
  const std::string place = file.element(0x00200032, "DS", "7\\8\\9 ");
  const std::string own =
      file.element(0x00209113, "SQ", file.item(file.element(0x00200032, "DS", "1\\2\\3 ")));
  const std::string foreign = file.open_sequence(0x2005140f, file.item(place, true));
  file.put(0x52009230, "SQ", file.item(own + foreign, true)).drop(0x00200032);
  EXPECT_EQ((*header_of(file).plane_of(0).position)[0], 1);
}

TEST(DicomHeader, TakesAWindowOnlyWhenItHasAWidth) {
  DicomBytes file;
  file.put(0x00281050, "DS", "40\\-600").put(0x00281051, "DS", "0\\0");
  EXPECT_FALSE(header_of(file).window);
  const DicomHeader header = header_of(file.put(0x00281051, "DS", "350\\1200"));
  ASSERT_TRUE(header.window);
  EXPECT_EQ(header.window->centre, 40);
  EXPECT_EQ(header.window->width, 350);
}

TEST(DicomHeader, NeverTakesFreeText) {
  const DicomHeader header = header_of(DicomBytes().put(0x00080060, "CS", "name^of somebody"));
  EXPECT_EQ(header.modality, "");
  EXPECT_THAT(fault_of(header),
              AllOf(HasSubstr("Modality (0008,0060) is no code word"), Not(HasSubstr("somebody"))));
}

// A data set that a treatment planning system or an old archive writes: it begins with its first element.
TEST(DicomHeader, IsReadWithoutPreambleAndMetaGroup) {
  for (const char* syntax : {testing::explicit_little, testing::implicit_little, testing::explicit_big}) {
    SCOPED_TRACE(syntax);
    DicomBytes file(syntax);
    file.put(0x00080005, "CS", "ISO_IR 100")
        .put(0x00080008, "CS", "ORIGINAL\\PRIMARY")
        .put(0x00080018, "UI", "1.2");
    const DicomHeader bare = parse_dicom(owned(file.data_set())).header;
    EXPECT_EQ(bare.transfer_syntax, syntax);
    EXPECT_EQ(fault_of(bare), "");
    EXPECT_EQ(bare.columns, 3);
    EXPECT_EQ(parse_dicom(owned(std::string(128, '\0') + "DICM" + file.data_set())).header.columns, 3);
  }
  const std::string whole = DicomBytes(testing::implicit_little).whole();
  EXPECT_EQ(parse_dicom(owned(whole.substr(132))).header.columns, 3) << "a meta group without its preamble";
}

TEST(DicomHeader, IsNotSeenInOtherFiles) {
  DicomBytes file;
  file.put(0x00080005, "CS", "ISO_IR 100").put(0x00080008, "CS", "ORIGINAL").put(0x00080018, "UI", "1.2");
  const std::string bare = file.data_set();
  EXPECT_TRUE(looks_like_dicom(testing::as_bytes(bare)));
  for (const std::size_t byte : {0, 2, 4, 20}) {
    std::string other = bare;
    other[byte] = static_cast<char>(other[byte] ^ 0x40);
    EXPECT_FALSE(looks_like_dicom(testing::as_bytes(other))) << byte;
  }
  EXPECT_FALSE(looks_like_dicom(testing::as_bytes(bare.substr(0, 30))));
  EXPECT_FALSE(looks_like_dicom(testing::as_bytes(std::string(4096, '\0'))));
  EXPECT_FALSE(looks_like_dicom(testing::as_bytes(std::string("\x08\0\x05\0notes of a day in spring", 28))));
}

TEST(DicomHeader, SaysWhatContradictsItself) {
  const struct {
    uint32_t tag;
    int value;
    const char* reason;
  } rows[] = {{0x00280010, 0, "0 rows"},
              {0x00280101, 17, "17 stored"},
              {0x00280102, 16, "the highest is 16"},
              {0x00280102, 3, "the highest is 3"},
              {0x00280100, 12, "12 bits"},
              {0x00280002, 2, "2 samples"},
              {0x00280002, 3, "bits"}};
  for (const auto& [tag, value, reason] : rows)
    EXPECT_THAT(fault_of(header_of(DicomBytes().put_short(tag, value))), HasSubstr(reason));
  EXPECT_THAT(fault_of(header_of(DicomBytes().drop(0x7fe00010))), HasSubstr("no pixels"));
  EXPECT_THAT(fault_of(header_of(DicomBytes().put(0x00280008, "IS", "-1"))), HasSubstr("frames"));
}

// Each claimed frame once took a slice of two hundred bytes before the pixels were counted.
TEST(DicomHeader, BelievesNoMoreFramesThanAreRead) {
  EXPECT_THAT(fault_of(header_of(DicomBytes().put(0x00280008, "IS", "262144"))), "");
  for (const char* frames : {"262145", "20000000", "999999999"})
    EXPECT_THAT(fault_of(header_of(DicomBytes().put(0x00280008, "IS", frames))),
                HasSubstr("more than the 262144"));
}

TEST(DicomHeader, HoldsTheClaimedPixelsAgainstTheBytesThatAreThere) {
  const auto refusal = [](const DicomBytes& file) {
    const DicomHeader header = header_of(file);
    EXPECT_EQ(fault_of(header), "");
    const auto error = error_of([&] { check_pixels_are_there(header); });
    return error ? error->message() : "";
  };
  EXPECT_EQ(refusal(DicomBytes()), "");
  EXPECT_THAT(refusal(DicomBytes().put(0x00280008, "IS", "2")),
              HasSubstr("claims 24 bytes of pixels, but there are 12"));
  EXPECT_THAT(refusal(DicomBytes(rle_lossless).fragments_of({"x"}).put(0x00280008, "IS", "99")),
              HasSubstr("is cut short"));
  EXPECT_THAT(refusal(DicomBytes(rle_lossless)
                          .fragments_of({"x"})
                          .put_short(0x00280010, 65535)
                          .put_short(0x00280011, 65535)),
              HasSubstr("is cut short"));
  // The product of these wrapped to a small number.
  DicomBytes wrap;
  wrap.drop(0x7fe00010).put(0x7fe00009, "OD", std::string(8, '\0')).put(0x00280008, "IS", "262144");
  wrap.put_short(0x00280010, 65535).put_short(0x00280011, 65535).put_short(0x00280100, 64);
  EXPECT_THAT(refusal(wrap), HasSubstr("claims 9006924378931200 bytes"));
}

// A value of nothing but backslashes became a string for each.
TEST(DicomHeader, RefusesTextsOfKilobytesUnsplit) {
  const auto refusal = [](uint32_t tag, const char* type, std::size_t length) {
    const auto error = error_of([&] { header_of(DicomBytes().put(tag, type, std::string(length, '\\'))); });
    return error ? error->message() : "";
  };
  EXPECT_EQ(refusal(0x00280030, "DS", 1024), "");
  EXPECT_THAT(refusal(0x00280030, "DS", 1026), HasSubstr("(0028,0030) is 1026 bytes long"));
  EXPECT_THAT(refusal(0x00280030, "UN", 100000), HasSubstr("(0028,0030)"));
  EXPECT_THAT(refusal(0x00280008, "UN", 2000), HasSubstr("(0028,0008)"));
  EXPECT_EQ(refusal(0x00281050, "UN", 65536), "");
  EXPECT_THAT(refusal(0x00281050, "UN", 65538), HasSubstr("(0028,1050)"));
  EXPECT_EQ(refusal(0x00080070, "UN", 100000), "") << "nobody looks at that one";
}

TEST(DicomHeader, RefusesATransferSyntaxThatIsNone) {
  EXPECT_THAT(error_of([&] { header_of(DicomBytes(std::string(1000, '1'))); })->message(),
              HasSubstr("(0002,0010)"));
}

TEST(DicomHeader, SaysWhatToDoWithPartsOfJpeg2000ThatAreNotDecoded) {
  EXPECT_THAT(fault_of(header_of(DicomBytes("1.2.840.10008.1.2.4.92"))), HasSubstr("gdcmconv --raw"));
  EXPECT_THAT(fault_of(header_of(DicomBytes("1.2.840.10008.1.2.4.102"))), HasSubstr("(0002,0010)"));
}

TEST(DicomHeader, ReadsOfAFileOnlyItsBeginning) {
  ScratchFolder scratch;
  DicomBytes file;
  file.put(0x00081140, "UT", std::string(40000, 'x'));
  file.put_short(0x00280010, 200).put_short(0x00280011, 300).pixels_of(std::vector<int>(60000, 1));
  testing::write_file(scratch.path() / "a", file.whole());
  const auto header = read_dicom_header(scratch.path() / "a");
  ASSERT_TRUE(header);
  EXPECT_EQ(header->columns, 300);
  EXPECT_EQ(header->pixels.length, 120000U);
  testing::write_file(scratch.path() / "b", testing::packed(file.whole()));
  EXPECT_EQ(read_dicom_header(scratch.path() / "b")->columns, 300);
  testing::write_file(scratch.path() / "c", std::string(200, 'x'));
  EXPECT_FALSE(read_dicom_header(scratch.path() / "c"));
  EXPECT_FALSE(read_dicom_header(scratch.path() / "absent"));
}

TEST(DicomHeader, RefusesFilesWithoutATransferSyntax) {
  std::string file = DicomBytes().whole();
  file[132 + 12] = '\3';  // the element behind the group's length leaves the meta group
  EXPECT_TRUE(error_of([&] { parse_dicom(owned(file)); }));
}

}  // namespace
}  // namespace larmor
