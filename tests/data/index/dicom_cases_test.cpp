#include <filesystem>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/data/index/file_list.h"
#include "larmor/data/index/index.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"

namespace larmor {
namespace {

namespace fs = std::filesystem;
using testing::CaseFolder;
using ::testing::Contains;
using testing::DicomBytes;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* storage = "1.2.840.10008.5.1.4.1.1.";
constexpr uint32_t class_tag = 0x00080016, modality_tag = 0x00080060, series_tag = 0x0020000e,
                   pixels_tag = 0x7fe00010, type_tag = 0x00080008, echo_tag = 0x00180086;

/// An object of a class, of no series of slices.
DicomBytes object(const std::string& uid, const std::string& modality, const std::string& series) {
  DicomBytes file;
  file.put(class_tag, "UI", storage + uid).put(modality_tag, "CS", modality).put(series_tag, "UI", series);
  return file;
}

DicomBytes slice(int place, const std::string& series, const std::string& modality = "CT") {
  return object(modality == "MR" ? "4" : "2", modality, series).place(0, 0, place);
}

DataConfig config_of(const CaseFolder& folder) {
  DataConfig data;
  data.kind = "dicom";
  data.folder = folder.path().string();
  return data;
}

std::vector<std::string> names_of_cases(const Index& index) {
  std::vector<std::string> all;
  for (const Case& entry : index.cases) all.push_back(entry.name());
  return all;
}

/// What the list of files says of one: its case, or why it is in none.
std::string row_of(const Index& index, const std::string& file) {
  for (const Json& row : list_of_files(index)) {
    if (row.at("path") != file) continue;
    return row.contains("reason") ? row.at("reason").get<std::string>() : row.at("case").get<std::string>();
  }
  return "in no row";
}

/// One study as an archive hands it out, with everything in one folder.
void fill_study(CaseFolder& folder, const std::string& patient, const std::string& uid) {
  for (int i = 0; i < 4; ++i) {
    folder.file(text(patient, "/IM", i), slice(i, uid + ".1").whole());
    folder.file(text(patient, "/SC", i),
                slice(7 * i, uid + ".1").put(type_tag, "CS", "ORIGINAL\\PRIMARY\\LOCALIZER").whole());
  }
  folder.file(patient + "/SEG", object("66.4", "SEG", uid + ".2").whole());
  folder.file(patient + "/DOSE", object("7", "OT", uid + ".3").whole());
  folder.file(patient + "/SR", object("88.67", "SR", uid + ".4").drop(pixels_tag).whole());
  folder.file(patient + "/RS", object("481.3", "RTSTRUCT", uid + ".5").drop(pixels_tag).whole());
  folder.file(patient + "/PR", object("11.1", "PR", uid + ".6").drop(pixels_tag).whole());
  folder.file(patient + "/PDF", object("104.1", "DOC", uid + ".7").drop(pixels_tag).whole());
  folder.file(patient + "/notes.txt", "words");
}

TEST(DicomCases, AreTheImagesOfAStudyAndNothingElse) {
  CaseFolder folder;
  fill_study(folder, "p1", "1.1");
  fill_study(folder, "p2", "1.2");
  const Index index = make_index(config_of(folder), 1);
  EXPECT_THAT(names_of_cases(index), ElementsAre("p1#1.1.1", "p2#1.2.1"));
  EXPECT_EQ(row_of(index, "p1/IM3"), "p1#1.1.1");
  EXPECT_EQ(row_of(index, "p1/SC2"), "a localizer: left out by data.dicom.class");
  EXPECT_EQ(row_of(index, "p1/SEG"), "a segmentation: left out by data.dicom.class");
  EXPECT_EQ(row_of(index, "p1/DOSE"), "a secondary capture: left out by data.dicom.class");
  EXPECT_EQ(row_of(index, "p2/SR"), "a report without pixels");
  EXPECT_EQ(row_of(index, "p2/RS"), "an object of radiotherapy without pixels");
  EXPECT_EQ(row_of(index, "p2/PR"), "a presentation state without pixels");
  EXPECT_EQ(row_of(index, "p2/PDF"), "a document without pixels");
  EXPECT_EQ(row_of(index, "p2/notes.txt"), "no DICOM file");
  for (const Depth depth : {Depth::header, Depth::full}) EXPECT_THAT(check_files(index, depth), IsEmpty());
}

TEST(DicomCases, HaveEachFileOfRandomStudiesInOneRow) {
  const char* const classes[] = {"2", "4", "7", "66.4", "481.2", "481.3", "88.33", "11.1", "104.1", "1.1"};
  std::size_t files = 0, cases = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    CaseFolder folder;
    std::mt19937 random(seed);
    const auto one_in = [&random](unsigned count) { return random() % count == 0; };
    folder.file("p0/first", slice(0, "1.9").whole());
    std::set<std::string> written = {"p0/first"};
    for (int i = 0; i < 30; ++i) {
      DicomBytes file =
          object(classes[random() % std::size(classes)], one_in(3) ? "MR" : "CT", text("1.", random() % 3));
      file.place(0, 0, static_cast<double>(random() % 6)).put(echo_tag, "IS", text(random() % 3));
      if (one_in(4)) file.drop(pixels_tag);
      if (one_in(6)) file.put(type_tag, "CS", "ORIGINAL\\PRIMARY\\LOCALIZER");
      if (one_in(8)) file.put_short(0x00280103, 7);
      std::string bytes = file.whole();
      if (one_in(12)) bytes.resize(bytes.size() / 2);
      if (one_in(15)) bytes = "no image";
      const std::string path = text("p", random() % 3, one_in(2) ? "/a/" : "/", i);
      folder.file(path, bytes);
      written.insert(path);
      if (one_in(5)) folder.file(path + " (1)", bytes), written.insert(path + " (1)");
    }
    DataConfig data = config_of(folder);
    if (one_in(3)) data.dicom.classes = {};
    if (one_in(3)) data.dicom.min_slices = 2;
    Index index;
    if (error_of([&] { index = make_index(without_splits(data), 1); })) continue;
    std::set<std::string> rows;
    for (const Json& row : list_of_files(index))
      EXPECT_TRUE(rows.insert(row.at("path").get<std::string>()).second) << seed << ' ' << row.dump();
    EXPECT_EQ(rows, written) << seed;
    files += rows.size();
    cases += index.cases.size();
  }
  EXPECT_GT(files, 1000U);
  EXPECT_GT(cases, 100U);
}

TEST(DicomCases, LeaveOutCopiesOfSlicesAndOfPictures) {
  CaseFolder folder;
  for (int i = 0; i < 4; ++i) folder.file(text("p1/", i, ".dcm"), slice(i, "1.1").whole());
  folder.file("p1/2 (1).dcm", slice(2, "1.1").whole());
  const auto film = object("1.1", "DX", "1.2").put(0x00080018, "UI", "1.2.3").whole();
  folder.file("p2/pa.dcm", film).file("p2/pa (1).dcm", film);
  folder.file("p2/lateral.dcm", object("1.1", "DX", "1.2").put(0x00080018, "UI", "1.2.4").whole());
  const Index index = make_index(config_of(folder), 1);
  EXPECT_THAT(names_of_cases(index), ElementsAre("p1", "p2/lateral.dcm", "p2/pa (1).dcm"));
  EXPECT_EQ(row_of(index, "p1/2.dcm"), "a copy of another file of its series");
  EXPECT_EQ(row_of(index, "p2/pa.dcm"), "a copy of another file of its series");
  EXPECT_THAT(check_files(index), IsEmpty());
}

TEST(DicomCases, AreTheEchoesOfASeriesThatLieAtOnePlace) {
  CaseFolder folder;
  for (int i = 0; i < 6; ++i) {
    const auto echo = text(1 + i % 2);
    folder.file(text("p1/", i), slice(i / 2, "1.1", "MR").put(echo_tag, "IS", echo).whole());
    // Numbers that follow the place tell nothing apart.
    folder.file(text("p2/", i), slice(i, "1.2", "MR").put(echo_tag, "IS", echo).whole());
  }
  DataConfig data = config_of(folder);
  const Index both = make_index(data, 1);
  EXPECT_THAT(names_of_cases(both), ElementsAre("p1#1.1-1", "p1#1.1-2", "p2"));
  EXPECT_THAT(check_files(both, Depth::full), IsEmpty());
  data.dicom.echo = {1};
  const Index first = make_index(data, 1);
  EXPECT_THAT(names_of_cases(first), ElementsAre("p1#1.1-1", "p2"));
  EXPECT_EQ(row_of(first, "p1/5"), "left out by data.dicom.echo");
}

TEST(DicomCases, OfASingleSliceAreAWarning) {
  CaseFolder folder;
  for (int i = 0; i < 4; ++i) folder.file(text("p1/", i), slice(i, "1.1").whole());
  folder.file("p2/scout", slice(0, "1.2").whole());
  DataConfig data = config_of(folder);
  EXPECT_THAT(make_index(data, 1).account->warnings,
              Contains(HasSubstr("1 case is of a single slice (p2/scout): data.dicom.min_slices=2")));
  data.dicom.min_slices = 2;
  const Index index = make_index(data, 1);
  EXPECT_THAT(names_of_cases(index), ElementsAre("p1"));
  EXPECT_EQ(row_of(index, "p2/scout"), "left out by data.dicom.min_slices");
  EXPECT_THAT(index.account->warnings, Not(Contains(HasSubstr("single slice"))));
}

TEST(DicomCases, OfSegmentationsAreAskedForAndNamed) {
  CaseFolder folder;
  fill_study(folder, "p1", "1.1");
  DataConfig data = config_of(folder);
  data.dicom.classes = {"segmentation"};
  const Index index = make_index(data, 1);
  EXPECT_THAT(names_of_cases(index), ElementsAre("p1/SEG"));
  EXPECT_THAT(index.account->warnings, Contains(HasSubstr("segmentations by their class")));
}

}  // namespace
}  // namespace larmor
