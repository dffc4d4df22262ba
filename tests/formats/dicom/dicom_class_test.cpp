#include "larmor/formats/dicom/dicom_class.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/formats/dicom/dicom_header.h"
#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/formats/volume.h"

#include "tests/support/dicom_files.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using ::testing::Contains;
using testing::DicomBytes;
using ::testing::HasSubstr;

TEST(DicomClass, IsToldByTheObjectsClass) {
  const struct {
    const char* uid;
    DicomClass kind;
  } rows[] = {{"2", DicomClass::image},
              {"2.1", DicomClass::image},
              {"4", DicomClass::image},
              {"7", DicomClass::secondary_capture},
              {"7.4", DicomClass::secondary_capture},
              {"77.1.5.1", DicomClass::image},
              {"66.4", DicomClass::segmentation},
              {"66.1", DicomClass::image},
              {"481.2", DicomClass::dose},
              {"481.3", DicomClass::radiotherapy},
              {"481.1", DicomClass::radiotherapy},
              {"481.23", DicomClass::radiotherapy},
              {"88.33", DicomClass::report},
              {"11.1", DicomClass::presentation},
              {"104.1", DicomClass::document},
              {"128", DicomClass::image}};
  for (const auto& [uid, kind] : rows) {
    DicomHeader header;
    header.sop_class = std::string("1.2.840.10008.5.1.4.1.1.") + uid;
    header.modality = "SEG";
    EXPECT_EQ(class_of(header), kind) << uid;
  }
}

TEST(DicomClass, IsToldByTheModalityWhereThereIsNoClass) {
  DicomHeader header;
  for (const auto& [modality, kind] : {std::pair{"CT", DicomClass::image},
                                       {"SEG", DicomClass::segmentation},
                                       {"RTDOSE", DicomClass::dose},
                                       {"RTSTRUCT", DicomClass::radiotherapy},
                                       {"SR", DicomClass::report}}) {
    header.modality = modality;
    EXPECT_EQ(class_of(header), kind) << modality;
  }
}

TEST(DicomClass, StandsBesideWhatAFolderHolds) {
  const ScratchFolder scratch;
  testing::write_file(scratch.path() / "ct.dcm", DicomBytes().whole());
  testing::write_file(scratch.path() / "seg.dcm",
                      DicomBytes().put(0x00080060, "CS", "SEG").put(0x0020000e, "UI", "1.2.4").whole());
  testing::write_file(scratch.path() / "sr.dcm",
                      DicomBytes().put(0x00080060, "CS", "SR").drop(0x7fe00010).whole());
  const auto found = find_dicom_series(scratch.path(), {"ct.dcm", "seg.dcm", "sr.dcm"});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].kind, DicomClass::image);
  EXPECT_EQ(found[1].kind, DicomClass::segmentation);
  EXPECT_EQ(dicom_class_of_file(scratch.path() / "sr.dcm"), DicomClass::report);
  EXPECT_EQ(dicom_class_of_file(scratch.path() / "absent"), std::nullopt);
  EXPECT_THAT(inspect_file(scratch.path()).problems.front(), HasSubstr("seg.dcm (1 file, a segmentation)"));
}

TEST(DicomClass, OfAScoutIsLocalizerAndAllIsSaidByInspect) {
  const ScratchFolder scratch;
  testing::write_file(scratch.path() / "scout",
                      DicomBytes().put(0x00080008, "CS", "ORIGINAL\\PRIMARY\\LOCALIZER").whole());
  EXPECT_THAT(inspect_file(scratch.path() / "scout").problems,
              Contains(HasSubstr("is a localizer by its class")));
  testing::write_file(scratch.path() / "seg", DicomBytes().put(0x00080060, "CS", "SEG").whole());
  EXPECT_THAT(inspect_file(scratch.path() / "seg").problems,
              Contains(HasSubstr("is a segmentation by its class")));
  testing::write_file(scratch.path() / "ct", DicomBytes().whole());
  EXPECT_TRUE(inspect_file(scratch.path() / "ct").problems.empty());
}

TEST(DicomClass, HasAWordOfItsOwnForConfigs) {
  const auto words = dicom_class_words();
  EXPECT_EQ(words.size(), 9U);
  EXPECT_EQ(word_of(DicomClass::secondary_capture), "secondary_capture");
  EXPECT_EQ(words.front(), word_of(DicomClass::image));
}

// A scout stored with the series that was planned on it has that series' UID.
TEST(DicomClass, TellsSlicesOfOneSeriesApart) {
  const ScratchFolder scratch;
  const auto slice = [](int place) { return DicomBytes().put(0x0020000e, "UI", "1.2").place(0, 0, place); };
  for (int i = 0; i < 3; ++i) {
    testing::write_file(scratch.path() / ("a" + std::to_string(i)), slice(i).whole());
    testing::write_file(scratch.path() / ("s" + std::to_string(i)),
                        slice(9 * i).put(0x00080008, "CS", "ORIGINAL\\PRIMARY\\LOCALIZER").whole());
  }
  const std::string folder = scratch.path().string();
  EXPECT_EQ(inspect_file(folder + "#1.2").shape, (std::vector<int64_t>{3, 2, 3}));
  EXPECT_THAT(inspect_file(folder + "#1.2-localizer").problems,
              Contains(HasSubstr("is a localizer by its class")));
  EXPECT_THAT(inspect_file(folder).problems.front(),
              HasSubstr(folder + "#1.2-localizer (3 slices, a localizer)"));
}

TEST(DicomClass, HasTheDescriptionOfASeriesOnlyWhereItIsWanted) {
  const ScratchFolder scratch;
  testing::write_file(scratch.path() / "a",
                      DicomBytes().put(0x0008103e, "LO", "T1 sag ").put(0x00200011, "IS", "12").whole());
  EXPECT_EQ(read_dicom_header(scratch.path() / "a")->description, "");
  EXPECT_EQ(read_dicom_header(scratch.path() / "a", DicomText::description)->description, "T1 sag");
  EXPECT_EQ(read_dicom_header(scratch.path() / "a")->series_number, "12");
}

}  // namespace
}  // namespace larmor
