#include "larmor/data/layout/laid_out.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/config/load.h"
#include "larmor/data/index/index.h"
#include "larmor/data/layout/layout.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using testing::CaseFolder;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

using Names = std::vector<std::string>;

class Layouts : public ::testing::Test {
 protected:
  Layouts() { data_.folder = folder_.path().string(); }

  Index index_of(const Names& files) {
    folder_.files(files);
    return make_index(data_, 1);
  }

  /// Patients by their splits.
  static std::map<std::string, std::set<std::string>> patients(const Index& index) {
    std::map<std::string, std::set<std::string>> found;
    for (const Case& entry : index.cases) found[to_text(entry.split)].insert(entry.patient);
    return found;
  }
  static std::set<std::string> all_patients(const Index& index) {
    std::set<std::string> found;
    for (const Case& entry : index.cases) found.insert(entry.patient);
    return found;
  }

  std::string refused(const Names& files) {
    const auto error = error_of([&] { index_of(files); });
    if (!error) return "";
    EXPECT_EQ(error->exit(), Exit::data);
    return text(error->message(), " / ", error->hint());
  }

  CaseFolder folder_;
  DataConfig data_;
};

TEST_F(Layouts, TakesFoldersForSplitsAndFilesBelowThemForPatients) {
  data_.kind = "npz";
  auto found = patients(index_of({"train/a.npz", "train/b.npz", "train/c.npz", "val/d.npz", "val/e.npz"}));
  EXPECT_THAT(found["train"], ElementsAre("a", "b", "c"));
  EXPECT_THAT(found["val"], ElementsAre("d", "e"));
}

TEST_F(Layouts, FindsSplitsByTheWordsOfChallengesAndBelowAFolderThatAllShare) {
  auto found = patients(index_of({"set/TrainingData/p1/t1.nii", "set/TrainingData/p1/t2.nii",
                                  "set/TrainingData/p2/t1.nii", "set/ValidationData/p3/t1.nii"}));
  EXPECT_THAT(found["train"], ElementsAre("p1", "p2"));
  EXPECT_THAT(found["val"], ElementsAre("p3"));
}

TEST_F(Layouts, RefusesWhatMayBeASplitOrAPatient) {
  EXPECT_THAT(refused({"train/a.nii", "val/b.nii", "p3/c.nii"}),
              AllOf(HasSubstr("p3/ stands beside it"), HasSubstr("data.layout=none")));
}

TEST_F(Layouts, RefusesALooseFileBesideSplits) {
  EXPECT_THAT(refused({"train/a.nii", "val/b.nii", "c.nii"}), HasSubstr("the file c lies beside it"));
}

TEST_F(Layouts, RefusesSeveralFoldersThatAreCalledLikeOneSplit) {
  const Names files = {"Training_001/a.nii", "Training_002/a.nii", "Training_003/a.nii"};
  EXPECT_THAT(refused(files), HasSubstr("are both called like the split train"));
  data_.layout = "none";
  EXPECT_THAT(all_patients(make_index(data_, 1)),
              ElementsAre("Training_001", "Training_002", "Training_003"));
}

TEST_F(Layouts, RefusesSplitsThatStandBelowWhatWouldBeAPatient) {
  EXPECT_THAT(refused({"images/train/a.nii", "images/val/b.nii", "more/train/a.nii"}),
              HasSubstr("images/ stands where a patient would"));
  data_.patient_pattern = "([a-z]+)[.]nii$";
  data_.layout = "none";
  EXPECT_THAT(all_patients(make_index(data_, 1)), ElementsAre("a", "b"));
}

TEST_F(Layouts, RefusesASplitThatWouldBeEmpty) {
  const Names files = {"train/p1/a.nii", "train/p2/a.nii", "test/p3/a.nii"};
  EXPECT_THAT(refused(files), AllOf(HasSubstr("val would be empty"), HasSubstr("data.split.val=[")));
  data_.split.val = Json::array({"p2"});
  auto found = patients(make_index(data_, 1));
  EXPECT_THAT(found["train"], ElementsAre("p1"));
  EXPECT_THAT(found["val"], ElementsAre("p2"));
  data_.split.val = 0.0;
  EXPECT_THAT(patients(make_index(data_, 1))["train"], ElementsAre("p1", "p2"));
}

TEST_F(Layouts, RefusesAPatientInTwoSplits) {
  EXPECT_THAT(refused({"train/p1/a.nii", "val/p1/a.nii"}),
              AllOf(HasSubstr("patient p1 is in"), HasSubstr("data.patient_pattern")));
}

TEST_F(Layouts, TakesNoLabelOfTheDecathlonForAnImageAndItsTestImagesForTheTest) {
  Names files = {"dataset.json"};
  for (int i = 0; i < 10; ++i) {
    files.push_back(text("imagesTr/spleen_", i, ".nii.gz"));
    files.push_back(text("labelsTr/spleen_", i, ".nii.gz"));
    files.push_back(text("imagesTr/._spleen_", i, ".nii.gz"));
  }
  files.emplace_back("imagesTs/spleen_90.nii.gz");
  const Index index = index_of(files);
  auto found = patients(index);
  EXPECT_THAT(index.cases, SizeIs(11));
  EXPECT_THAT(found["test"], ElementsAre("spleen_90"));
  EXPECT_EQ(found["train"].size() + found["val"].size(), 10U);
  EXPECT_FALSE(found["val"].empty());
  EXPECT_THAT(index.patients_by, HasSubstr("layout decathlon"));
  EXPECT_THAT(index.account->passed_over, Contains(Pair("a label by its folder", SizeIs(10))));
}

TEST_F(Layouts, KeepsChannelsOfNnUnetWithTheirPatient) {
  Names files;
  for (int i = 0; i < 5; ++i)
    for (const char* channel : {"0000", "0001"})
      files.push_back(text("Dataset001_Brain/imagesTr/BRATS_00", i, '_', channel, ".nii.gz"));
  const Index index = index_of(files);
  EXPECT_THAT(all_patients(index),
              ElementsAre("BRATS_000", "BRATS_001", "BRATS_002", "BRATS_003", "BRATS_004"));
  data_.modalities = parse_json(R"({"t1": "0000", "t2": "0001"})", "modalities");
  const Index joined = make_index(data_, 1);
  EXPECT_THAT(joined.cases, SizeIs(5));
  EXPECT_THAT(all_patients(joined), SizeIs(5));
}

TEST_F(Layouts, KeepsWhatIsDerivedOfASubjectOfBidsWithHim) {
  Names files = {"dataset_description.json", "participants.tsv", "derivatives/template.nii.gz"};
  for (const char* subject : {"sub-01", "sub-02", "sub-03", "sub-04", "sub-05"}) {
    for (const char* session : {"1", "2"})
      files.push_back(text(subject, "/ses-", session, "/anat/", subject, "_ses-", session, "_T1w.nii.gz"));
    files.push_back(text("derivatives/fmriprep/", subject, "/anat/", subject, "_desc-preproc_T1w.nii.gz"));
    files.push_back(text("derivatives/fmriprep/", subject, "/anat/", subject, "_desc-brain_mask.nii.gz"));
  }
  const Index index = index_of(files);
  EXPECT_THAT(all_patients(index), ElementsAre("sub-01", "sub-02", "sub-03", "sub-04", "sub-05"));
  EXPECT_THAT(index.cases, SizeIs(15));
  EXPECT_THAT(index.account->passed_over, Contains(Pair("a mask by its name", SizeIs(5))));
  EXPECT_THAT(index.account->passed_over,
              Contains(Pair("in no folder of a subject", ElementsAre("derivatives/template.nii.gz"))));
}

TEST_F(Layouts, TellsSubjectsOfTwoDataSetsOfBidsApart) {
  const Index index =
      index_of({"ds1/sub-01/anat/a.nii", "ds1/derivatives/x/sub-01/anat/a.nii", "ds2/sub-01/anat/a.nii"});
  EXPECT_THAT(all_patients(index), ElementsAre("ds1/sub-01", "ds2/sub-01"));
}

TEST_F(Layouts, KeepsTimePointsOfBratsWithTheirPatient) {
  Names files;
  for (const char* patient : {"00000", "00002", "00003"})
    for (const char* point : {"000", "001"})
      for (const char* modality : {"t1n", "t1c", "seg"})
        files.push_back(text("BraTS2023/ASNR-TrainingData/BraTS-GLI-", patient, '-', point, "/BraTS-GLI-",
                             patient, '-', point, '-', modality, ".nii.gz"));
  const Index index = index_of(files);
  EXPECT_THAT(all_patients(index), ElementsAre("BraTS-GLI-00000", "BraTS-GLI-00002", "BraTS-GLI-00003"));
  EXPECT_THAT(index.cases, SizeIs(12)) << "no segmentation is an image";
  auto found = patients(index);
  EXPECT_FALSE(found["val"].empty()) << "training data alone are dealt out";
  data_.modalities = parse_json(R"({"t1n": "t1n", "t1c": "t1c", "label": "seg"})", "modalities");
  const Index joined = make_index(data_, 1);
  EXPECT_THAT(joined.cases, SizeIs(6));
  EXPECT_EQ(joined.cases[0].files.count("label"), 1U);
  EXPECT_THAT(all_patients(joined), SizeIs(3));
}

TEST_F(Layouts, KnowsBratsOfEarlierYearsAndItsSplits) {
  const Index index =
      index_of({"MICCAI_BraTS2020_TrainingData/BraTS20_Training_001/BraTS20_Training_001_t1.nii",
                "MICCAI_BraTS2020_TrainingData/BraTS20_Training_002/BraTS20_Training_002_t1.nii",
                "MICCAI_BraTS2020_TrainingData/BraTS2021_00495/BraTS2021_00495_t1.nii",
                "MICCAI_BraTS2020_ValidationData/BraTS20_Validation_001/BraTS20_Validation_001_t1.nii",
                "MICCAI_BraTS2020_TrainingData/name_mapping.csv"});
  auto found = patients(index);
  EXPECT_THAT(found["train"], ElementsAre("BraTS2021_00495", "BraTS20_Training_001", "BraTS20_Training_002"));
  EXPECT_THAT(found["val"], ElementsAre("BraTS20_Validation_001"));
}

TEST_F(Layouts, KnowsThePatientsOfMimicCxr) {
  data_.kind = "picture";
  const Index index =
      index_of({"files/p10/p10000032/s50414267/a.jpg", "files/p10/p10000032/s53189527/b.jpg",
                "files/p10/p10000764/s57375967/c.jpg", "files/p11/p11000011/s50414267/d.jpg"});
  EXPECT_THAT(all_patients(index), ElementsAre("p10000032", "p10000764", "p11000011"));
}

TEST_F(Layouts, LetsAPersonSayWhoThePatientIs) {
  data_.patient_pattern = "centre-[0-9]+/(p[0-9]+)";
  const Index index = index_of({"centre-1/p1-a.nii", "centre-2/p1-b.nii", "centre-2/p2.nii"});
  EXPECT_THAT(all_patients(index), ElementsAre("p1", "p2"));
  EXPECT_THAT(refused({"centre-2/other.nii"}),
              HasSubstr("finds no patient in 1 of 4 paths (first: centre-2/other.nii)"));
}

TEST_F(Layouts, RefusesAPatternThatNamesNobody) {
  folder_.files({"p1/a.nii"});
  for (const char* const pattern : {"p[0-9]+", "(p", ""}) {
    data_.patient_pattern = pattern;
    const auto error = error_of([&] { make_index(data_, 1); });
    ASSERT_EQ(error.has_value(), *pattern != '\0') << pattern;
    if (error) {
      EXPECT_EQ(error->exit(), Exit::usage);
    }
  }
}

TEST_F(Layouts, RefusesFilesThatALayoutWhichAPersonNamedDoesNotKnow) {
  data_.layout = "brats";
  EXPECT_THAT(refused({"p1/a.nii"}), HasSubstr("data.layout is brats, and p1/a.nii is not called so"));
}

TEST_F(Layouts, WarnsOfFewPatients) {
  const Index few = index_of({"all/p1/a.nii", "all/p2/a.nii"});
  EXPECT_THAT(few.account->warnings,
              ElementsAre(HasSubstr("all files lie below all/"), HasSubstr("there is 1 patient")));
  CaseFolder many;
  for (int i = 0; i < 5; ++i) many.files({text('p', i, "/a.nii")});
  data_.folder = many.path().string();
  EXPECT_THAT(make_index(data_, 1).account->warnings, IsEmpty());
}

TEST_F(Layouts, WarnsOfImagesThatAreCalledLikeMasks) {
  Names files;
  for (int i = 0; i < 5; ++i) {
    files.push_back(text('p', i, "/t1.nii"));
    files.push_back(text('p', i, "/t1_Seg.nii"));
    files.push_back(text('p', i, "/segment2.nii"));
  }
  EXPECT_THAT(index_of(files).account->warnings,
              ElementsAre(HasSubstr("5 images are called like masks (p0/t1_Seg.nii)")));
}

TEST(LayoutTable, HoldsTheWordsThatTheConfigTakes) {
  for (const FolderLayout& layout : layouts()) {
    const auto loaded = load_config(
        {.files = {}, .environment = {}, .overrides = {text("data.layout=", layout.name)}}, "any", "any", {});
    EXPECT_EQ(loaded.config.data.layout, layout.name);
  }
}

}  // namespace
}  // namespace larmor
