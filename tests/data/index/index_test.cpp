#include "larmor/data/index/index.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"
#include "tests/support/image_files.h"
#include "tests/support/picture_files.h"

namespace larmor {
namespace {

using testing::CaseFolder;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;

DataConfig folder_config(const CaseFolder& folder, const std::string& kind = "nifti") {
  DataConfig data;
  data.kind = kind;
  data.folder = folder.path().string();
  return data;
}

DataConfig list_config(CaseFolder& folder, const std::string& content, const std::string& name = "list.csv") {
  folder.file(name, content);
  DataConfig data;
  data.kind = "list";
  data.list = (folder.path() / name).string();
  return data;
}

std::vector<std::string> names(const Index& index) {
  std::vector<std::string> all;
  for (const Case& entry : index.cases) all.push_back(entry.name());
  return all;
}

void fill_ten_patients(CaseFolder& folder) {
  for (int patient = 0; patient < 10; ++patient) {
    for (const char* name : {"t1", "t2", "flair"}) folder.volume(text("p", patient, '/', name, ".nii.gz"));
  }
}

TEST(Case, IsTitledByWhatItsFilesHaveInCommon) {
  const auto title = [](std::map<std::string, std::string> files) {
    return Case{.files = std::move(files), .patient = "the patient"}.title();
  };
  EXPECT_EQ(title({{"image", "sub-01/sub-01_t1.nii.gz"}}), "sub-01/sub-01_t1.nii.gz");
  EXPECT_EQ(title({{"image", "a/x.nii"}, {"label", "a/x_seg.nii"}, {"mask_lung", "a/y.nii"}}), "a/x.nii")
      << "what is no image says nothing";
  EXPECT_EQ(title({{"image_t1c", "sub-01/sub-01_t1c.nii.gz"}, {"image_t1n", "sub-01/sub-01_t1n.nii.gz"}}),
            "sub-01")
      << "t1 is the beginning of two words, and the folder is called as its files";
  EXPECT_EQ(title({{"image_t1", "sub-01/ses-2/t1.nii"}, {"image_t2", "sub-01/ses-2/t2.nii"}}),
            "sub-01/ses-2");
  EXPECT_EQ(title({{"ct", "12/12.nii.gz"}, {"lateral", "12/12_lat.png"}, {"pa", "12/12_pa.png"}}), "12");
  EXPECT_EQ(title({{"image_t1", "t1/001.nii"}, {"image_t2", "t2/001.nii"}}), "the patient");
}

TEST(MakeIndex, FindsPictures) {
  CaseFolder folder;
  for (const char* name : {"p1/a.png", "p1/b.JPG", "p2/c.jpeg", "p2/notes.txt"})
    folder.file(name, testing::png_of(1, 1, testing::PngKind::grey, 8, {1}));
  const Index index = make_index(folder_config(folder, "picture"), 1);
  EXPECT_THAT(names(index), ElementsAre("p1/a.png", "p1/b.JPG", "p2/c.jpeg"));
  EXPECT_EQ(index.cases[1].patient, "p1");
}

std::string dicom_slice(int place, const std::string& series, const std::string& modality = "CT") {
  testing::DicomBytes file;
  return file.place(0, 0, place).put(0x0020000e, "UI", series).put(0x00080060, "CS", modality).whole();
}

TEST(MakeIndex, MakesACaseOfTheSlicesOfASeries) {
  CaseFolder folder;
  for (int i = 0; i < 3; ++i) {
    folder.file(text("p1/chest/", i), dicom_slice(i, "1.1"));
    folder.file(text("p2/", i), dicom_slice(i, "1.2")).file(text("p2/b", i), dicom_slice(i, "1.3"));
    folder.file(text("p3/", i), dicom_slice(i, "1.4"));
  }
  folder.file("p4/pa.dcm", dicom_slice(0, "1.5", "DX")).file("p4/lateral.dcm", dicom_slice(0, "1.5", "DX"));
  folder.file("alone.dcm", dicom_slice(0, "1.6")).file("p1/notes.txt", "words");
  const Index index = make_index(folder_config(folder, "dicom"), 1);
  EXPECT_THAT(names(index),
              ElementsAre("alone.dcm", "p1/chest", "p2#1.2", "p2#1.3", "p3", "p4/lateral.dcm", "p4/pa.dcm"));
  std::vector<std::string> patients;
  for (const Case& entry : index.cases) patients.push_back(entry.patient);
  EXPECT_THAT(patients, ElementsAre("alone", "p1", "p2", "p2", "p3", "p4", "p4"));
  EXPECT_EQ(index.cases[4].bytes, 3 * dicom_slice(0, "1.4").size());
  for (const Depth depth : {Depth::header, Depth::full}) EXPECT_TRUE(check_files(index, depth).empty());
}

TEST(MakeIndex, ListsTheDicomSeriesThatAreNoVolumes) {
  CaseFolder folder;
  for (const int i : {0, 1, 5, 6}) folder.file(text("p1/", i), dicom_slice(i, "1.1"));
  for (int i = 0; i < 3; ++i) folder.file(text("p2/", i), dicom_slice(i, "1.2"));
  for (const Depth depth : {Depth::header, Depth::full}) {
    const auto bad = check_files(make_index(folder_config(folder, "dicom"), 1), depth);
    ASSERT_EQ(bad.size(), 1U);
    EXPECT_EQ(bad[0].path, "p1");
    EXPECT_THAT(bad[0].reason, HasSubstr("gap of 4.00 mm between 1 and 5"));
  }
}

TEST(MakeIndex, SaysWhenAFolderHoldsNoDicomImages) {
  CaseFolder folder;
  folder.file("p1/a.txt", "words");
  const auto error = error_of([&] { make_index(folder_config(folder, "dicom"), 1); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("no DICOM images in"));
}

TEST(MakeIndex, TakesDicomFoldersAndPicturesFromAList) {
  CaseFolder folder;
  for (int i = 0; i < 3; ++i) folder.file(text("scans/p1/", i), dicom_slice(i, "1.1"));
  folder.file("p.png", testing::png_of(1, 1, testing::PngKind::grey, 8, {1}));
  const Index index =
      make_index(list_config(folder, "image,label,patient\nscans/p1,p.png,a\nscans/p1#1.1,0.5,a\n"), 1);
  ASSERT_EQ(index.cases.size(), 2U);
  EXPECT_EQ(index.cases[0].files.at("label"), "p.png");
  EXPECT_TRUE(check_files(index, Depth::full).empty());
}

TEST(MakeIndex, TakesTheFirstSubFolderAsThePatient) {
  CaseFolder folder;
  folder.volume("p2/scan/t1.nii").volume("p1/a.nii.gz").volume("p1/b.nii.gz").volume("loose.nii.gz");
  const Index index = make_index(folder_config(folder), 1);
  EXPECT_THAT(names(index), ElementsAre("loose.nii.gz", "p1/a.nii.gz", "p1/b.nii.gz", "p2/scan/t1.nii"));
  EXPECT_EQ(index.cases[0].patient, "loose");
  EXPECT_EQ(index.cases[1].patient, "p1");
  EXPECT_EQ(index.cases[3].patient, "p2");
  EXPECT_EQ(index.cases[3].bytes, std::filesystem::file_size(folder.path() / "p2/scan/t1.nii"));
  EXPECT_EQ(index.patients(), 3);
  EXPECT_TRUE(index.folder.is_absolute());
  EXPECT_EQ(index.patients_by,
            "4 volumes of 3 patients (first sub-folder, a loose file its own): 1 train, 1 val, 1 test");
}

TEST(MakeIndex, NeverDividesAPatient) {
  CaseFolder folder;
  fill_ten_patients(folder);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Index index = make_index(folder_config(folder), seed);
    std::map<std::string, std::set<Split>> splits;
    for (const Case& entry : index.cases) splits[entry.patient].insert(entry.split);
    EXPECT_EQ(splits.size(), 10U);
    for (const auto& [patient, of] : splits) EXPECT_EQ(of.size(), 1U) << patient;
    EXPECT_EQ(index.of(Split::train).size(), 24U);
    EXPECT_EQ(index.of(Split::val).size(), 3U);
    EXPECT_EQ(index.of(Split::test).size(), 3U);
  }
}

TEST(MakeIndex, DealsPatientsOutToFolds) {
  CaseFolder folder;
  fill_ten_patients(folder);
  DataConfig data = folder_config(folder);
  data.split.test = 0.0;
  std::set<std::string> seen;
  for (const char* fold : {"1/5", "2/5", "3/5", "4/5", "5/5"}) {
    data.fold = fold;
    const Index index = make_index(data, 7);
    EXPECT_THAT(index.patients_by, HasSubstr(text("8 train, 2 val, 0 test; val is fold ", fold[0], " of 5")));
    for (const int64_t number : index.of(Split::val))
      seen.insert(index.cases[static_cast<size_t>(number)].patient);
  }
  EXPECT_EQ(seen.size(), 10U);
  // Who goes by splits that are made already deals out nothing.
  EXPECT_EQ(make_index(without_splits(data), 7).of(Split::train).size(), 30U);
}

TEST(MakeIndex, DividesFilesWhenAskedTo) {
  CaseFolder folder;
  fill_ten_patients(folder);
  DataConfig data = folder_config(folder);
  data.split.by = "file";
  const Index index = make_index(data, 3);
  EXPECT_EQ(index.patients(), 30);
  EXPECT_THAT(index.patients_by, HasSubstr("(each file its own): 24 train, 3 val, 3 test"));
}

TEST(MakeIndex, SaysWhatItLookedForInAFolderWithoutVolumes) {
  CaseFolder folder;
  folder.volume("p1/seg.nii").file("p1/notes.txt", "").file("p2/notes.txt", "");
  const auto wrong_kind = error_of([&] { make_index(folder_config(folder, "npz"), 1); });
  ASSERT_TRUE(wrong_kind);
  EXPECT_EQ(wrong_kind->exit(), Exit::data);
  EXPECT_THAT(wrong_kind->message(), HasSubstr("looked for *.npz, *.npy; 3 files have other names"));

  DataConfig data = folder_config(folder);
  data.exclude = {"*seg*"};
  const auto excluded = error_of([&] { make_index(data, 1); });
  ASSERT_TRUE(excluded);
  EXPECT_THAT(excluded->message(), HasSubstr("all 1 that are there are passed over"));
  EXPECT_THAT(excluded->hint(), HasSubstr("data.exclude"));

  data.folder.clear();
  const auto unset = error_of([&] { make_index(data, 1); });
  ASSERT_TRUE(unset);
  EXPECT_EQ(unset->exit(), Exit::data);
}

TEST(MakeIndex, ListsAllLinksThatLeadNowhere) {
  CaseFolder folder;
  folder.volume("a.nii");
  std::filesystem::create_symlink("nowhere", folder.path() / "b.nii");
  std::filesystem::create_symlink("nowhere", folder.path() / "c.nii");
  const auto error = error_of([&] { make_index(folder_config(folder), 1); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("2 files are missing"));
  EXPECT_THAT(error->message(), HasSubstr("b.nii"));
  EXPECT_THAT(error->message(), HasSubstr("c.nii"));
}

TEST(MakeIndex, ReadsAList) {
  CaseFolder folder;
  folder.volume("x/a.nii").volume("x/b.nii").volume("c.nii");
  const Index index = make_index(list_config(folder,
                                             "image,patient,split,label\n"
                                             "x/b.nii,p2,val,1\nx/a.nii,p1,train,0\nc.nii,p1,train,0\n"),
                                 1);
  EXPECT_THAT(names(index), ElementsAre("c.nii", "x/a.nii", "x/b.nii"));
  EXPECT_EQ(index.cases[2].split, Split::val);
  EXPECT_EQ(index.cases[2].label, "1");
  EXPECT_EQ(index.patients_by, "3 cases of 2 patients (as list.csv says): 1 train, 1 val, 0 test");
}

TEST(MakeIndex, TakesAbsolutePathsOfAListAsRelativeToWhatTheyShare) {
  CaseFolder volumes, lists;
  volumes.volume("a/1.nii").volume("b/2.nii");
  const Index index =
      make_index(list_config(lists, text("image,patient\n", (volumes.path() / "a/1.nii").string(), ",p1\n",
                                         (volumes.path() / "b/2.nii").string(), ",p2\n")),
                 1);
  for (const Case& entry : index.cases) {
    EXPECT_THAT(entry.name(), Not(HasSubstr(".."))) << entry.name();
    EXPECT_FALSE(std::filesystem::path(entry.name()).is_absolute());
    EXPECT_TRUE(std::filesystem::exists(index.folder / entry.name()));
  }
}

TEST(MakeIndex, WantsToKnowThePatientsOfAList) {
  CaseFolder folder;
  folder.volume("a.nii").volume("b.nii");
  DataConfig data = list_config(folder, "image\na.nii\nb.nii\n");
  const auto error = error_of([&] { make_index(data, 1); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->hint(), HasSubstr("data.split.by=file"));
  data.split.by = "file";
  EXPECT_EQ(make_index(data, 1).patients(), 2);
}

TEST(MakeIndex, NamesAPatientInTwoSplitsOfAList) {
  CaseFolder folder;
  folder.volume("a.nii").volume("b.nii").volume("c.nii").volume("d.nii");
  const auto error = error_of([&] {
    make_index(
        list_config(folder,
                    "image,patient,split\na.nii,p1,train\nb.nii,p1,val\nc.nii,p2,test\nd.nii,p2,train\n"),
        1);
  });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("patient p1 is in train and in val"));
  EXPECT_THAT(error->message(), HasSubstr("patient p2"));
}

TEST(MakeIndex, RefusesOneFileForTwoPatients) {
  CaseFolder folder;
  folder.volume("a.nii");
  const auto error =
      error_of([&] { make_index(list_config(folder, "image,patient\na.nii,p1\n./a.nii,p2\n"), 1); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("a.nii belongs to patient p1 and to patient p2"));
}

TEST(MakeIndex, ListsTheMissingFilesOfAList) {
  CaseFolder folder;
  folder.volume("a.nii");
  const auto error =
      error_of([&] { make_index(list_config(folder, "image,patient\na.nii,p1\nb.nii,p2\nc.nii,p3\n"), 1); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("b.nii"));
  EXPECT_THAT(error->message(), HasSubstr("c.nii"));
}

TEST(MakeIndex, NeedsNoFilesForPhantoms) {
  DataConfig data;
  data.kind = "phantom";
  const Index index = make_index(data, 1);
  EXPECT_EQ(index.cases.size(), 24U);
  EXPECT_EQ(index.patients(), 24);
  EXPECT_TRUE(check_files(index).empty());
  data.phantom_size = {64, 64, 32};
  EXPECT_NE(make_index(data, 1).sha256(), index.sha256());
}

TEST(MakeIndex, RefusesKindsThatItDoesNotKnow) {
  DataConfig data;
  data.kind = "tea leaves";
  const auto error = error_of([&] { make_index(data, 1); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::usage);
}

TEST(IndexHash, IsTheSameForTheSameDataInAnotherFolder) {
  CaseFolder here, there;
  fill_ten_patients(here);
  fill_ten_patients(there);
  const std::string hash = make_index(folder_config(here), 1).sha256();
  EXPECT_EQ(make_index(folder_config(there), 1).sha256(), hash);
  EXPECT_NE(make_index(folder_config(there), 2).sha256(), hash) << "the split is part of it";
  there.volume("p3/more.nii");
  EXPECT_NE(make_index(folder_config(there), 1).sha256(), hash);
}

TEST(IndexHash, ChangesWithASize) {
  CaseFolder folder;
  fill_ten_patients(folder);
  const std::string hash = make_index(folder_config(folder), 1).sha256();
  folder.file("p3/t1.nii.gz", "other");
  EXPECT_NE(make_index(folder_config(folder), 1).sha256(), hash);
}

TEST(IndexJson, ComesBackAsItWas) {
  CaseFolder folder;
  fill_ten_patients(folder);
  const Index index = make_index(folder_config(folder), 1);
  const Index back = index_from_json(parse_json(to_text(to_json(index)), "index.json"));
  EXPECT_EQ(back.cases, index.cases);
  EXPECT_EQ(back.folder, index.folder);
  EXPECT_EQ(back.kind, index.kind);
  EXPECT_EQ(back.patients_by, index.patients_by);
  EXPECT_EQ(back.sha256(), index.sha256());
}

TEST(IndexJson, RefusesDamage) {
  CaseFolder folder;
  folder.volume("a/1.nii");
  const Json whole = to_json(make_index(folder_config(folder), 1));
  for (const char* key : {"kind", "folder", "cases", "sha256"}) {
    Json json = whole;
    json.erase(key);
    EXPECT_TRUE(error_of([&] { index_from_json(json); })) << key;
  }
  Json json = whole;
  json["cases"][0]["split"] = "val";
  const auto error = error_of([&] { index_from_json(json); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
}

TEST(RealBrains, AreTwentyVolumesOfSixPatients) {
  const auto images = testing::shared_data();
  if (images.empty()) GTEST_SKIP() << "the folder of real images is not on this machine";
  DataConfig data;
  data.folder = (images / "brain").string();
  data.exclude = {"*lesion*", "*seg*"};
  const Index index = make_index(data, 42);
  EXPECT_EQ(index.cases.size(), 20U);
  EXPECT_EQ(index.patients(), 6);
  EXPECT_EQ(index.patients_by, "20 volumes of 6 patients (first sub-folder): 4 train, 1 val, 1 test");
  EXPECT_THAT(check_files(index), ElementsAre());
}

}  // namespace
}  // namespace larmor
