// One bad file among good ones: indexing goes on, and the check names it.
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/data/index/index.h"
#include "larmor/data/volume_dataset.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"

namespace larmor {
namespace {

using testing::CaseFolder;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

DataConfig config_of(const CaseFolder& folder, const std::string& kind = "nifti") {
  DataConfig data;
  data.kind = kind;
  data.folder = folder.path().string();
  return data;
}

std::vector<std::string> case_names(const Index& index) {
  std::vector<std::string> all;
  for (const Case& entry : index.cases) all.push_back(entry.name());
  return all;
}

std::vector<std::string> paths(const std::vector<BadFile>& bad) {
  std::vector<std::string> all;
  for (const BadFile& file : bad) all.push_back(file.path);
  return all;
}

void make_pipe(const std::filesystem::path& path) { ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0); }

TEST(BadCases, APipeAndALinkThatLeadsNowhereStayCasesAndAreNamedByTheCheck) {
  CaseFolder folder;
  for (const char* name : {"p1/a.nii", "p2/a.nii", "p3/a.nii", "p4/a.nii"}) folder.volume(name);
  make_pipe(folder.path() / "p1" / "pipe.nii");
  std::filesystem::create_symlink("nowhere", folder.path() / "p2" / "link.nii");
  const Index index = make_index(config_of(folder), 1);
  EXPECT_EQ(index.cases.size(), 6U);
  for (const Depth depth : {Depth::header, Depth::full}) {
    const auto bad = check_files(index, depth);
    EXPECT_THAT(paths(bad), ElementsAre("p1/pipe.nii", "p2/link.nii"));
    for (const BadFile& file : bad) EXPECT_NE(file.reason, "");
  }
}

TEST(BadCases, AreReadAsErrorsAndNotWaitedForWhateverTheCache) {
  CaseFolder folder;
  folder.volume("a.nii").volume("b.nii").volume("c.nii");
  make_pipe(folder.path() / "pipe.nii");
  for (const char* cache : {"none", "full"}) {
    DataConfig data = config_of(folder);
    data.split.train = 1.0;
    data.split.val = data.split.test = 0.0;
    data.cache = cache;
    data.cache_folder = (folder.path() / ".cache").string();
    const auto dataset = make_volume_dataset(data, make_index(data, 1), Split::train, Json::array());
    ASSERT_EQ(dataset->name(3), "pipe.nii");
    const auto error = error_of([&] { dataset->get({1, 0, 3}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->exit(), Exit::data);
    EXPECT_THAT(error->message(), HasSubstr("pipe.nii"));
    EXPECT_EQ(dataset->content_hash(3), "");
  }
}

TEST(BadCases, AreRefusedWhereTheConfigAllowsFewer) {
  CaseFolder folder;
  for (const char* name : {"a.nii", "b.nii", "c.nii", "d.nii"}) folder.volume(name);
  std::filesystem::create_symlink("nowhere", folder.path() / "link.nii");
  DataConfig data = config_of(folder);
  EXPECT_EQ(make_index(data, 1).cases.size(), 5U);
  data.bad_files = 0;
  const auto error = error_of([&] { make_index(data, 1); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("1 file is missing"));
}

TEST(BadCases, AreTooManyWhenTheyAreMostOfAll) {
  EXPECT_FALSE(are_too_many(10, 10, 100));
  EXPECT_TRUE(are_too_many(11, 10, 100));
  EXPECT_FALSE(are_too_many(1, 10, 2));
  EXPECT_TRUE(are_too_many(2, 10, 3)) << "a wrong folder, not a bad file";
  EXPECT_FALSE(are_too_many(3, any_number_of_files, 3));
}

std::string bad_case_slice(int place, const std::string& series, const std::string& modality = "CT") {
  testing::DicomBytes file;
  return file.place(0, 0, place).put(0x0020000e, "UI", series).put(0x00080060, "CS", modality).whole();
}

// The preamble, the mark and half of the first element behind it.
std::string cut_in_its_meta_group(const std::string& slice) { return slice.substr(0, 132 + 6); }

TEST(BadCases, ASliceCutInItsMetaGroupMakesItsSeriesBadAndNoOther) {
  CaseFolder folder;
  for (int i = 0; i < 4; ++i) {
    for (int patient = 1; patient <= 3; ++patient)
      folder.file(text("p", patient, "/", i), bad_case_slice(i, text("1.", patient)));
  }
  folder.file("p2/3", cut_in_its_meta_group(bad_case_slice(3, "1.2")));
  const Index index = make_index(config_of(folder, "dicom"), 1);
  EXPECT_THAT(case_names(index), ElementsAre("p1", "p2", "p3"));
  for (const Depth depth : {Depth::header, Depth::full}) {
    const auto bad = check_files(index, depth);
    ASSERT_THAT(paths(bad), ElementsAre("p2")) << "a head without its top is no head";
    EXPECT_THAT(bad[0].reason, HasSubstr("3"));
  }
}

TEST(BadCases, ADamagedPictureAmongOthersIsACaseOfItsOwn) {
  CaseFolder folder;
  for (int patient = 1; patient <= 3; ++patient) {
    folder.file(text("p", patient, "/pa.dcm"), bad_case_slice(0, text("1.", patient), "DX"));
  }
  folder.file("p2/lateral.dcm", cut_in_its_meta_group(bad_case_slice(0, "1.2", "DX")));
  make_pipe(folder.path() / "p3" / "pipe");
  const Index index = make_index(config_of(folder, "dicom"), 1);
  EXPECT_THAT(case_names(index),
              ElementsAre("p1/pa.dcm", "p2/lateral.dcm", "p2/pa.dcm", "p3/pa.dcm", "p3/pipe"));
  EXPECT_THAT(paths(check_files(index)), ElementsAre("p2/lateral.dcm", "p3/pipe"));
}

}  // namespace
}  // namespace larmor
