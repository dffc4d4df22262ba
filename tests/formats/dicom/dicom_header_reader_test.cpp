#include "larmor/formats/dicom/dicom_header_reader.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/formats/volume.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using testing::DicomBytes;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::owned;

DicomHeader read_header(const DicomBytes& file) { return parse_dicom(owned(file.whole())).header; }

TEST(DicomHeaderReader, NamesTheElementThatCannotBeUnderstood) {
  const struct {
    uint32_t tag;
    const char *type, *value, *fault;
  } rows[] = {{0x00281052, "DS", "=1024", "RescaleIntercept (0028,1052) is no number"},
              {0x00281053, "DS", "2,5", "RescaleSlope (0028,1053) is no number"},
              {0x00281053, "DS", "2\\3", "RescaleSlope (0028,1053) holds 2 numbers, not 1"},
              {0x00280004, "CS", "MONOC\bROME1", "PhotometricInterpretation (0028,0004) is no code word"},
              {0x00280004, "CS", "MONOCHROME3", "PhotometricInterpretation (0028,0004) names no colours"},
              {0x00280103, "US", "\2", "PixelRepresentation (0028,0103) is 8194, not 0 or 1"},
              {0x00280103, "US", "abcd", "PixelRepresentation (0028,0103) is 4 bytes long"},
              {0x00280103, "US", "", "PixelRepresentation (0028,0103) is not there"},
              {0x00280006, "US", "\2", "PlanarConfiguration (0028,0006)"},
              {0x00280008, "IS", "1.5", "NumberOfFrames (0028,0008) is no count of frames"},
              {0x00280008, "IS", "x", "NumberOfFrames (0028,0008) is no number"},
              {0x00280030, "DS", "1\\x", "PixelSpacing (0028,0030) is no number"},
              {0x00200032, "DS", "1\\2", "ImagePositionPatient (0020,0032) holds 2 numbers, not 3"},
              {0x00200037, "DS", "1\\0\\0", "ImageOrientationPatient (0020,0037) holds 3 numbers, not 6"},
              {0x00180050, "DS", "thick", "SliceThickness (0018,0050) is no number"},
              {0x0020000e, "UI", "1.2;3", "SeriesInstanceUID (0020,000e) is no code word"},
              {0x00080008, "CS", "ORIGINAL\x01", "ImageType (0008,0008)"}};
  for (const auto& [tag, type, value, fault] : rows)
    EXPECT_THAT(fault_of(read_header(DicomBytes().put(tag, type, value))), HasSubstr(fault));
}

TEST(DicomHeaderReader, DemandsWhatDecidesIntensities) {
  for (const uint32_t tag : {0x00280002U, 0x00280004U, 0x00280103U})
    EXPECT_THAT(fault_of(read_header(DicomBytes().drop(tag))), HasSubstr("is not there")) << std::hex << tag;
}

// The size of a detector's pixels counts where the patient's are not known; windows count in radiographs.
TEST(DicomHeaderReader, LeavesAloneWhatDecidesNothing) {
  EXPECT_EQ(fault_of(read_header(DicomBytes().put(0x00181164, "DS", "x"))), "");
  EXPECT_THAT(fault_of(read_header(DicomBytes().put(0x00181164, "DS", "x").drop(0x00280030))),
              HasSubstr("(0018,1164)"));
  for (const uint32_t tag : {0x00281050U, 0x00281051U, 0x00281056U}) {
    DicomBytes file;
    EXPECT_EQ(fault_of(read_header(file.put(tag, "DS", "4x"))), "");
    EXPECT_THAT(fault_of(read_header(file.put(0x00080060, "CS", "DX"))), HasSubstr("(0028,105"))
        << std::hex << tag;
  }
}

TEST(DicomHeaderReader, RefusesWindowsWithoutWidthsAndFramesThatAreNotClaimed) {
  EXPECT_THAT(fault_of(read_header(DicomBytes().put(0x00080060, "CS", "DX").put(0x00281050, "DS", "40"))),
              HasSubstr("lists 0 widths for 1 centres"));
  DicomBytes file;
  const std::string place = file.item(file.element(0x00200032, "DS", "1\\2\\3 "));
  const std::string frame = file.item(file.element(0x00209113, "SQ", place));
  file.put(0x52009230, "SQ", frame + frame).put(0x00280008, "IS", "3");
  EXPECT_THAT(fault_of(read_header(file)), HasSubstr("describes 2 frames, and (0028,0008) claims 3"));
}

/// A file of a table with these entries in item 0 of `sequence`.
DicomBytes with_table(DicomBytes file, uint32_t sequence, int first, const std::string& entries) {
  std::string form;
  for (const int number : {static_cast<int>(entries.size() / 2), first, 16})
    form += testing::published<uint16_t>(static_cast<uint16_t>(number));
  const std::string table = file.element(0x00283002, "US", form) + file.element(0x00283006, "OW", entries);
  return file.put(sequence, "SQ", file.item(table));
}

std::string words(const std::vector<uint16_t>& values) {
  std::string bytes;
  for (const uint16_t value : values) bytes += testing::published(value);
  return bytes;
}

std::vector<float> voxels_of(const DicomBytes& file) {
  const ScratchFolder scratch;
  testing::write_file(scratch.path() / "file", file.whole());
  const Volume volume = read_volume(scratch.path() / "file");
  const at::Tensor all = volume.voxels.permute({0, 3, 2, 1}).contiguous();
  return {all.const_data_ptr<float>(), all.const_data_ptr<float>() + all.numel()};
}

// Source of the rule: PS3.3 C.11.1; values before and behind the table are its ends.
TEST(DicomHeaderReader, PutsValuesThroughTheTableOfTheirModality) {
  DicomBytes file =
      with_table(DicomBytes().put(0x00281053, "DS", "7"), 0x00283000, 1, words({100, 50, 1000}));
  EXPECT_THAT(voxels_of(file), ElementsAre(100, 100, 50, 1000, 1000, 1000));
  EXPECT_THAT(voxels_of(with_table(DicomBytes(testing::implicit_little), 0x00283000, 4, words({9, 8}))),
              ElementsAre(9, 9, 9, 9, 9, 8));
  DicomBytes broken;
  broken.put(0x00283000, "SQ", broken.item(broken.element(0x00283002, "US", words({900, 0, 16}))));
  EXPECT_THAT(fault_of(read_header(broken)),
              HasSubstr("ModalityLUTSequence (0028,3000) holds a table whose parts"));
}

DicomBytes dose(const std::string& offsets) {
  DicomBytes file;
  file.put(0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.481.2").put(0x00080060, "CS", "RTDOSE");
  file.put(0x00280008, "IS", "2").put(0x3004000c, "DS", offsets).put(0x3004000e, "DS", "0.5");
  return file.pixels_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

TEST(DicomHeaderReader, PlacesThePlanesOfADoseGridAndCountsInItsUnit) {
  const ScratchFolder scratch;
  for (const char* offsets : {"0\\2.5", "30\\32.5"}) {
    testing::write_file(scratch.path() / "dose", dose(offsets).whole());
    const Volume volume = read_volume(scratch.path() / "dose");
    EXPECT_THAT(position(volume.affine, {0, 0, 1}), ElementsAre(-10, -20, 32.5)) << offsets;
  }
  EXPECT_THAT(voxels_of(dose("0\\2.5")), ElementsAre(0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5));
  EXPECT_THAT(voxels_of(dose("0\\-2.5")), ElementsAre(3, 3.5, 4, 4.5, 5, 5.5, 0, 0.5, 1, 1.5, 2, 2.5));
  EXPECT_THAT(fault_of(read_header(dose("0"))), HasSubstr("(3004,000c) places 1 planes of 2"));
  EXPECT_THAT(fault_of(read_header(dose("7\\8"))), HasSubstr("(3004,000c) begins neither with 0"));
  EXPECT_THAT(fault_of(read_header(dose("0\\1").drop(0x3004000e))),
              HasSubstr("DoseGridScaling (3004,000e) is not there"));
}

TEST(DicomHeaderReader, KnowsNoMorePixelsThanTheHeaderClaims) {
  const auto refusal = [](const DicomBytes& file) {
    const auto error = error_of([&] { voxels_of(file); });
    return error ? error->message() : "";
  };
  DicomBytes file;
  file.pixels_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_THAT(refusal(file), HasSubstr("12 bytes of its pixels are left over"));
  EXPECT_EQ(refusal(DicomBytes().pixels_of({0, 1, 2, 3, 4, 5, 0})), "") << "zeros that fill up";
  DicomBytes high;
  high.put_short(0x00280101, 12).put_short(0x00280102, 15);
  EXPECT_THAT(refusal(high), HasSubstr("values below the lowest bit"));
  EXPECT_EQ(refusal(high.pixels_of({0, 16, 32, 48, 64, 80})), "");
}

}  // namespace
}  // namespace larmor
