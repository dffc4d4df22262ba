#include "larmor/formats/dicom/dicom.h"

#include <string>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/formats/dicom/dicom_series.h"
#include "larmor/formats/quick_check.h"
#include "larmor/formats/volume.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"
#include "tests/support/image_files.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using testing::CaseFolder;
using testing::DicomBytes;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// A slice whose voxels are 10 * number to 10 * number + 5.
DicomBytes slice(int number, const std::string& series = "1.2.3") {
  DicomBytes file;
  std::vector<int> values;
  for (int i = 0; i < 6; ++i) values.push_back(10 * number + i);
  file.put(0x0020000e, "UI", series).place(10, 20, 30 + 2 * number).pixels_of(values);
  return file;
}

void fill(CaseFolder& folder, const std::string& prefix, int slices, const std::string& series = "1.2.3") {
  // Names in the opposite order of the places.
  for (int i = 0; i < slices; ++i) folder.file(text(prefix, 9 - i, ".dcm"), slice(i, series).whole());
}

std::string dicom_refusal(const std::filesystem::path& path) {
  const auto error = error_of([&] { read_volume(path); });
  return error ? error->message() : "";
}

// An archive handed "0 (1).dcm" out beside "0.dcm".
TEST(DicomSeries, CountsSlicesThatAreThereTwiceOnce) {
  CaseFolder folder;
  fill(folder, "", 4);
  folder.file("9 (1).dcm", slice(0).whole()).file("7 (1).dcm", slice(2).whole());
  EXPECT_EQ(read_volume(folder.path()).voxels.sizes(), (std::vector<int64_t>{1, 3, 2, 4}));
  const FileReport report = inspect_file(folder.path());
  EXPECT_THAT(report.shape, ElementsAre(3, 2, 4));
  EXPECT_THAT(report.problems, ElementsAre(HasSubstr("copies of slices")));
  folder.file("8 (1).dcm", slice(1).put_short(0x00280106, 1).whole());
  EXPECT_THAT(dicom_refusal(folder.path()), HasSubstr("lie at the same place")) << "another slice is no copy";
}

// The hint is to name one of the series, and each name that the message offers leads on.
TEST(DicomSeries, OffersNamesOfSeriesThatOpenThem) {
  CaseFolder folder;
  fill(folder, "a", 3, "1.2.3");
  fill(folder, "b", 4, "1.2.4");
  const auto error = error_of([&] { read_volume(folder.path()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->hint(), "name one of them");
  std::vector<int64_t> slices;
  const std::string words = error->message(), place = folder.path().string() + '#';
  for (auto at = words.find(place); at != std::string::npos; at = words.find(place, at + 1))
    slices.push_back(read_volume(words.substr(at, words.find(' ', at) - at)).voxels.size(3));
  EXPECT_THAT(slices, ElementsAre(3, 4));
}

TEST(DicomSeries, RefusesSlicesThatMeanDarkAndBrightDifferently) {
  CaseFolder folder;
  fill(folder, "", 3);
  folder.file("0.dcm", slice(3).put(0x00280004, "CS", "MONOCHROME1").whole());
  EXPECT_THAT(dicom_refusal(folder.path()), HasSubstr("what dark and bright mean"));
}

TEST(DicomSeries, BecomesOneVolumeSortedByPlace) {
  CaseFolder folder;
  fill(folder, "", 4);
  folder.file("notes.txt", "not an image").file(".hidden", slice(7).whole());
  const Volume volume = read_volume(folder.path());
  EXPECT_EQ(volume.voxels.sizes(), (std::vector<int64_t>{1, 3, 2, 4}));
  EXPECT_EQ(volume.voxels[0][0][0][3].item<float>(), 30);
  EXPECT_EQ(volume.voxels[0][2][1][1].item<float>(), 15);
  EXPECT_THAT(position(volume.affine, {2, 1, 3}), ElementsAre(-11, -20.75, 36));
  const FileReport report = inspect_file(folder.path());
  EXPECT_TRUE(report.readable);
  EXPECT_THAT(report.shape, ElementsAre(3, 2, 4));
  EXPECT_THAT(report.spacing_mm, ElementsAre(0.5, 0.75, 2));
  EXPECT_EQ(report.dtype, "uint16");
}

TEST(DicomSeries, IsRescaledSliceBySlice) {
  CaseFolder folder;
  folder.file("a", slice(0).put(0x00281053, "DS", "2").put(0x00281052, "DS", "-1000").whole());
  folder.file("b", slice(1).put(0x00281053, "DS", "0.1").put(0x00281052, "DS", "5").whole());
  const Volume volume = read_volume(folder.path());
  EXPECT_EQ(volume.voxels[0][1][0][0].item<float>(), -998);
  EXPECT_EQ(volume.voxels[0][1][0][1].item<float>(), static_cast<float>(11 * 0.1 + 5));
  EXPECT_EQ(inspect_file(folder.path()).dtype, "uint16");
}

TEST(DicomSeries, IsRescaledSliceBySliceWhenOnlyTheSlopesDiffer) {
  CaseFolder folder;
  folder.file("a", slice(0).put(0x00281053, "DS", "2").put(0x00281052, "DS", "1").whole());
  folder.file("b", slice(1).put(0x00281053, "DS", "3").put(0x00281052, "DS", "1").whole());
  const Volume volume = read_volume(folder.path());
  EXPECT_EQ(volume.voxels[0][1][0][0].item<float>(), 3);
  EXPECT_EQ(volume.voxels[0][1][0][1].item<float>(), 34);
}

TEST(DicomSeries, MustBeNamedWhenTheFolderHoldsSeveral) {
  CaseFolder folder;
  fill(folder, "a", 3, "1.2.3");
  fill(folder, "b", 2, "1.2.4");
  EXPECT_THAT(dicom_refusal(folder.path()),
              AllOf(HasSubstr("several DICOM series"), HasSubstr("#1.2.3 (3 slices)"),
                    HasSubstr("#1.2.4 (2 slices)")));
  EXPECT_EQ(read_volume(folder.path().string() + "#1.2.4").voxels.size(3), 2);
  EXPECT_THAT(dicom_refusal(folder.path().string() + "#1.2.5"), HasSubstr("no such series"));
  EXPECT_EQ(read_volume(folder.path() / "a9.dcm").voxels.size(3), 1);
}

TEST(DicomSeries, WithAGapOrMixedSizesIsRefusedByName) {
  CaseFolder folder;
  fill(folder, "", 2);
  folder.file("far.dcm", slice(5).whole()).file("farther.dcm", slice(6).whole());
  EXPECT_THAT(dicom_refusal(folder.path()), AllOf(HasSubstr("gap of 8.00 mm between 8.dcm and far.dcm")));
  const FileReport report = inspect_file(folder.path());
  EXPECT_FALSE(report.readable);
  EXPECT_THAT(report.shape, ElementsAre(3, 2, 4));
  EXPECT_FALSE(looks_sound(folder.path()));
  CaseFolder mixed;
  mixed.file("a", slice(0).whole())
      .file("b", slice(1).put_short(0x00280010, 1).put_short(0x00280011, 6).whole());
  EXPECT_THAT(dicom_refusal(mixed.path()), HasSubstr("a is 3 x 2, b is 6 x 1"));
}

TEST(DicomSeries, NamesTheSliceThatIsCutShort) {
  CaseFolder folder;
  fill(folder, "", 3);
  EXPECT_TRUE(looks_sound(folder.path()));
  const std::string whole = slice(3).whole();
  folder.file("cut.dcm", whole.substr(0, whole.size() - 4));
  EXPECT_FALSE(looks_sound(folder.path()));
  EXPECT_THAT(dicom_refusal(folder.path()), HasSubstr("cut.dcm"));
}

TEST(DicomFolder, WithoutImagesIsRefused) {
  CaseFolder folder;
  folder.file("a.txt", "words").file("report.dcm", DicomBytes().drop(0x7fe00010).whole());
  EXPECT_THAT(dicom_refusal(folder.path()), HasSubstr("holds no DICOM images"));
}

TEST(DicomFolder, KeepsRadiographsApart) {
  CaseFolder folder;
  for (const char* name : {"pa.dcm", "lateral.dcm"})
    folder.file(name, slice(1).put(0x00080060, "CS", "DX").drop(0x00200032).whole());
  EXPECT_THAT(find_dicom_series(folder.path(), {"lateral.dcm", "pa.dcm"}), SizeIs(2));
  EXPECT_THAT(dicom_refusal(folder.path()),
              AllOf(HasSubstr("lateral.dcm (1 file)"), HasSubstr("pa.dcm (1 file)")));
}

TEST(DicomFile, OfManyFramesIsAVolume) {
  DicomBytes file;
  std::string frames;
  for (const char* place : {"10\\20\\36", "10\\20\\30", "10\\20\\33"})
    frames += file.item(file.element(0x00209113, "SQ", file.item(file.element(0x00200032, "DS", place))));
  std::vector<int> values(18);
  for (int i = 0; i < 18; ++i) values[static_cast<std::size_t>(i)] = i;
  file.put(0x00280008, "IS", "3").put(0x52009230, "SQ", frames).drop(0x00200032).pixels_of(values);
  CaseFolder folder;
  folder.file("a.dcm", file.whole());
  const Volume volume = read_volume(folder.path() / "a.dcm");
  EXPECT_EQ(volume.voxels.sizes(), (std::vector<int64_t>{1, 3, 2, 3}));
  EXPECT_EQ(volume.voxels[0][0][0][0].item<float>(), 6);
  EXPECT_EQ(volume.voxels[0][0][0][2].item<float>(), 0);
  EXPECT_NEAR(spacing_of(volume.affine)[2], 3, 1e-12);
  EXPECT_TRUE(torch::equal(read_volume(folder.path()).voxels, volume.voxels));
  folder.file("b.dcm", file.drop(0x52009230).whole());
  EXPECT_THAT(inspect_file(folder.path() / "b.dcm").problems,
              ElementsAre(HasSubstr("do not say where they lie")));
}

// Frames that say nothing of themselves take no memory of their own.
TEST(DicomFile, OfAsManyFramesAsAreReadIsAVolume) {
  DicomBytes file;
  file.put(0x00280008, "IS", "262144").put_short(0x00280010, 1).put_short(0x00280011, 1).drop(0x00200032);
  file.pixels_of(std::vector<int>(262144, 7));
  CaseFolder folder;
  const StoredVolume volume = open_dicom(folder.file("a.dcm", file.whole()).path() / "a.dcm");
  EXPECT_EQ(volume.fault, "");
  EXPECT_THAT(volume.array.shape, ElementsAre(1, 1, 262144));
}

TEST(DicomFile, IsRescaledFrameByFrame) {
  DicomBytes file;
  std::string frames;
  for (const int i : {1, 2}) {
    const std::string scale =
        file.element(0x00281052, "DS", "0 ") + file.element(0x00281053, "DS", text(i, "0"));
    const std::string place = file.element(0x00200032, "DS", text("0\\0\\", i, ' '));
    frames += file.item(file.element(0x00209113, "SQ", file.item(place)) +
                        file.element(0x00289145, "SQ", file.item(scale)));
  }
  file.put(0x00280008, "IS", "2").put(0x52009230, "SQ", frames).drop(0x00200032);
  CaseFolder folder;
  folder.file("a.dcm", file.pixels_of(std::vector<int>(12, 3)).whole());
  const Volume volume = read_volume(folder.path() / "a.dcm");
  EXPECT_EQ(volume.voxels[0][0][0][0].item<float>(), 30);
  EXPECT_EQ(volume.voxels[0][0][0][1].item<float>(), 60);
}

TEST(DicomFile, OfARadiographIsWindowedAndTurnedRound) {
  DicomBytes file = slice(1);
  file.put(0x00080060, "CS", "CR").put(0x00280004, "CS", "MONOCHROME1").drop(0x00200032).drop(0x00200037);
  file.put_short(0x00280101, 12).put_short(0x00280102, 11).pixels_of({0, 1000, 2000, 3000, 4000, 4095});
  file.put(0x00281050, "DS", "2000.5").put(0x00281051, "DS", "2001");
  CaseFolder folder;
  folder.file("a.dcm", file.whole());
  const Volume volume = read_volume(folder.path() / "a.dcm");
  EXPECT_EQ(volume.voxels.sizes(), (std::vector<int64_t>{1, 3, 2, 1}));
  EXPECT_EQ(volume.voxels[0][0][0][0].item<float>(), 4095);
  EXPECT_EQ(volume.voxels[0][2][0][0].item<float>(), 2047.5);
  EXPECT_EQ(volume.voxels[0][2][1][0].item<float>(), 0);
}

TEST(DicomFile, ThatIsAMosaicSaysSo) {
  CaseFolder folder;
  folder.file("a.dcm", slice(1).put(0x00080008, "CS", "ORIGINAL\\PRIMARY\\MOSAIC").whole());
  EXPECT_THAT(inspect_file(folder.path() / "a.dcm").problems, ElementsAre(HasSubstr("is a mosaic")));
}

TEST(PathOf, IsTheShortestThatFindsTheSeries) {
  EXPECT_EQ(path_of("f", {"1.2", {"a"}}, false), "f/a");
  EXPECT_EQ(path_of("f", {"1.2", {"a", "b"}}, true), "f");
  EXPECT_EQ(path_of("f", {"1.2", {"a", "b"}}, false), "f#1.2");
  EXPECT_EQ(place_of("/nowhere/a#1.2"), "/nowhere/a#1.2");
}

}  // namespace
}  // namespace larmor
