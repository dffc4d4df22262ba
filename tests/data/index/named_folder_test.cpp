#include "larmor/data/index/named_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"

namespace larmor {
namespace {

using testing::CaseFolder;
using testing::DicomBytes;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr const char* storage = "1.2.840.10008.5.1.4.1.1.";
constexpr uint32_t class_tag = 0x00080016, modality_tag = 0x00080060, series_tag = 0x0020000e,
                   pixels_tag = 0x7fe00010;

std::string object(const std::string& uid, const std::string& modality, const std::string& series) {
  DicomBytes file;
  return file.put(class_tag, "UI", storage + uid)
      .put(modality_tag, "CS", modality)
      .put(series_tag, "UI", series)
      .whole();
}

std::vector<std::string> names(const NamedFolder& named) {
  std::vector<std::string> all;
  for (const auto& one : named.cases) all.push_back(one.name);
  return all;
}

std::vector<std::string> names(const NamedImages& named, const CaseFolder& folder) {
  std::vector<std::string> all;
  for (const auto& image : named.images) all.push_back(image.lexically_relative(folder.path()).string());
  return all;
}

/// How many files are passed over, by the reason.
std::vector<std::pair<std::string, std::size_t>> counts(const FileAccount& account) {
  std::vector<std::pair<std::string, std::size_t>> all;
  for (const auto& [reason, files] : account.passed_over) all.emplace_back(reason, files.size());
  return all;
}

TEST(NamedFolder, CasesAreThoseThatTrainingsEndsOfNamesTellApart) {
  CaseFolder folder;
  folder.volume("BraTS-0/BraTS-0-t1.nii").volume("BraTS-0/BraTS-0-seg.nii").volume("BraTS-1/BraTS-1-t1n.nii");
  folder.volume("BraTS-1/BraTS-1-t2w.nii").volume("more/a-t2w.nii").volume("more/b-t2w.nii");
  DataConfig trained;
  trained.kind = "phantom";
  trained.modalities = Json::parse(R"({"t1n": ["t1n", "t1"], "t2w": "t2w"})");
  trained.exclude = {"somewhere/else/*", "b-*"};
  trained.patient_pattern = "(no such)";
  const auto named = cases_of_named_folder(trained, {}, folder.path());
  ASSERT_TRUE(named);
  EXPECT_THAT(names(*named), ElementsAre("BraTS-0", "BraTS-1", "more/a"));
  EXPECT_THAT(named->cases[1].files, ElementsAre(Pair("image_t1n", "BraTS-1/BraTS-1-t1n.nii"),
                                                 Pair("image_t2w", "BraTS-1/BraTS-1-t2w.nii")));
  EXPECT_THAT(named->channels, ElementsAre("t1n", "t2w"));
  EXPECT_THAT(counts(named->account), ElementsAre(Pair(HasSubstr("data.exclude"), 1U),
                                                  Pair("of no modality of data.modalities", 1U)));
  const auto one = cases_of_named_folder(trained, {}, folder.path() / "BraTS-1");
  EXPECT_THAT(names(*one), ElementsAre("BraTS-1"));
}

TEST(NamedFolder, ModalitiesEndNamesAsTheyAreCalledWhereTrainingSaysNothing) {
  CaseFolder folder;
  folder.volume("p0/t1n.nii").volume("p0/t2w.nii");
  EXPECT_FALSE(cases_of_named_folder({}, {}, folder.path())) << "each image may be a case";
  const auto named = cases_of_named_folder({}, {"t1n", "t2w"}, folder.path());
  EXPECT_THAT(names(*named), ElementsAre("p0"));
  const auto error = error_of([&] { cases_of_named_folder({}, {"pd"}, folder.path()); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message() + error->hint(), HasSubstr("looked for pd (pd)"));
}

TEST(NamedFolder, ImagesAreThoseThatTheFiltersOfDicomLeave) {
  CaseFolder folder;
  for (const int z : {1, 2}) {
    DicomBytes slice;
    slice.place(0, 0, z).put(series_tag, "UI", "1.1");
    folder.file("p0/ct" + std::to_string(z), slice.whole());
  }
  DicomBytes report;
  report.put(class_tag, "UI", std::string(storage) + "88.11").put(series_tag, "UI", "1.4").drop(pixels_tag);
  folder.file("p0/seg", object("66.4", "SEG", "1.2"))
      .file("p0/shot", object("7", "OT", "1.3"))
      .file("p0/report", report.whole())
      .volume("p1/head.nii");
  const auto chosen = images_of_named_folder({}, folder.path());
  EXPECT_THAT(names(chosen, folder), ElementsAre("p0#1.1", "p1/head.nii"));
  EXPECT_THAT(counts(chosen.account),
              ElementsAre(Pair(HasSubstr("without pixels"), 1U),
                          Pair(HasSubstr("secondary capture: left out by data.dicom.class"), 1U),
                          Pair(HasSubstr("segmentation: left out by data.dicom.class"), 1U)));
  DataConfig all;
  all.dicom.classes = {};
  EXPECT_EQ(images_of_named_folder(all, folder.path()).images.size(), 4U);
  DataConfig by_slices;
  by_slices.dicom.min_slices = 3;
  const auto error = error_of([&] { images_of_named_folder(by_slices, folder.path() / "p0"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("left out by data.dicom.min_slices"));
  EXPECT_THAT(error->hint(), HasSubstr("by itself"));
}

TEST(NamedFolder, PatternsOnNamesHoldAndThoseOnPathsDoNot) {
  CaseFolder folder;
  folder.volume("a.nii").volume("a_seg.nii");
  DataConfig trained;
  trained.exclude = {"*_seg.nii"};
  trained.include = {"site/*"};
  const auto chosen = images_of_named_folder(trained, folder.path());
  EXPECT_THAT(names(chosen, folder), ElementsAre("a.nii"));
  EXPECT_EQ(chosen.account.files_passed_over(), 1);
}

}  // namespace
}  // namespace larmor
