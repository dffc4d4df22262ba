#include "larmor/data/index/copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/support/cases.h"
#include "tests/support/dicom_files.h"

namespace larmor {
namespace {

using testing::CaseFolder;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

DataConfig volumes_of(const CaseFolder& folder) {
  DataConfig data;
  data.folder = folder.path().string();
  return data;
}

Index indexed(const DataConfig& data) {
  Index index = make_index(data, 1);
  index.states = states_of_files(index);
  return index;
}

std::vector<std::string> notes_on(const DataConfig& data) {
  const Index index = make_index(data, 1);
  return check_copies(index, states_of_files(index), data);
}

/// The files of each group of copies.
std::vector<std::vector<std::string>> groups(const Index& index) {
  std::vector<std::vector<std::string>> all;
  for (const auto& group : copied_images(index, index.states)) {
    all.emplace_back();
    for (const CopiedImage& image : group) all.back().push_back(image.file);
  }
  return all;
}

/// Bytes beyond what a state looks at, but for one of them the same under every `value`.
std::string large_file(char value) {
  constexpr std::size_t length = 400'000, beyond_all_blocks = 30'000;
  std::string bytes(length, 'x');
  bytes[beyond_all_blocks] = value;
  return bytes;
}

TEST(Copies, AreImagesWithTheSameBytesOfTwoPatients) {
  CaseFolder folder;
  folder.volume("p1/a.nii", 1).volume("p2/b.nii", 2).volume("p3/c.nii", 1).volume("p4/d.nii.gz", 4);
  EXPECT_THAT(groups(indexed(volumes_of(folder))), ElementsAre(ElementsAre("p1/a.nii", "p3/c.nii")));
}

TEST(Copies, OfOnePatientInOneSplitAreHisOwn) {
  CaseFolder folder;
  folder.volume("p1/a.nii", 1).volume("p1/b.nii", 1).volume("p2/c.nii", 2);
  EXPECT_THAT(groups(indexed(volumes_of(folder))), IsEmpty());
}

TEST(Copies, AreNamedByThePatientsWhoHaveThemWhereOneHasThemTwice) {
  CaseFolder folder;
  folder.volume("p1/a.nii", 1).volume("p1/b.nii", 1).volume("p2/c.nii", 1);
  EXPECT_THAT(groups(indexed(volumes_of(folder))),
              ElementsAre(ElementsAre("p1/a.nii", "p1/b.nii", "p2/c.nii")));
}

TEST(Copies, AreNoneWhereOneByteDiffersThatTheStatesHaveNotSeen) {
  CaseFolder folder;
  folder.file("p1/a.npy", large_file('a'))
      .file("p2/b.npy", large_file('b'))
      .file("p3/c.npy", large_file('a'));
  DataConfig data = volumes_of(folder);
  data.kind = "npz";
  const Index index = indexed(data);
  ASSERT_TRUE(index.states.at("p1/a.npy").has_contents_of(index.states.at("p2/b.npy")));
  EXPECT_THAT(groups(index), ElementsAre(ElementsAre("p1/a.npy", "p3/c.npy")));
}

TEST(Copies, OfMasksAreNone) {
  CaseFolder folder;
  for (int i = 1; i < 4; ++i) folder.volume(text("p", i, "/t1.nii"), i).volume(text("p", i, "/seg.nii"), 0);
  DataConfig data = volumes_of(folder);
  data.modalities = {{"t1", {"t1"}}, {"mask", {"seg"}}};
  EXPECT_THAT(groups(indexed(data)), IsEmpty());
}

TEST(Copies, OfASeriesOfSlicesAreFoundInAnotherFolder) {
  CaseFolder folder;
  for (const char* patient : {"p1", "p2"}) {
    for (int slice = 0; slice < 4; ++slice)
      folder.file(text(patient, "/ct/", slice, ".dcm"), testing::DicomBytes().place(0, 0, slice).whole());
  }
  DataConfig data = volumes_of(folder);
  data.kind = "dicom";
  EXPECT_THAT(groups(indexed(data)), ElementsAre(ElementsAre("p1/ct", "p2/ct")));
}

TEST(Copies, AcrossSplitsAreRefusedWithBothNamesAndTheKeys) {
  CaseFolder folder;
  folder.volume("train/p1/a.nii", 1).volume("train/p2/b.nii", 2).volume("val/p3/c.nii", 1);
  const auto data = volumes_of(folder);
  const auto error = error_of([&] { notes_on(data); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(),
              HasSubstr("train/p1/a.nii (patient p1, train) = val/p3/c.nii (patient p3, val)"));
  EXPECT_THAT(error->hint(), HasSubstr("data.allow_copies=true"));
}

TEST(Copies, AcrossSplitsAreANoteWhereTheyAreAllowed) {
  CaseFolder folder;
  folder.volume("train/p1/a.nii", 1).volume("train/p2/b.nii", 2).volume("val/p3/c.nii", 1);
  auto data = volumes_of(folder);
  data.allow_copies = true;
  EXPECT_THAT(notes_on(data), ElementsAre(HasSubstr("more than one split")));
}

TEST(Copies, AcrossPatientsOfOneSplitAreANote) {
  CaseFolder folder;
  folder.volume("train/p1/a.nii", 1).volume("train/p2/b.nii", 1).volume("val/p3/c.nii", 3);
  const auto data = volumes_of(folder);
  EXPECT_THAT(notes_on(data), ElementsAre(HasSubstr("several patients of one split")));
}

// What the hint says is done, and leads on.
TEST(Copies, AreGoneOnceTheyAreExcludedOrOnePatients) {
  CaseFolder folder;
  for (int scan = 1; scan <= 6; ++scan) folder.volume(text("s", scan, '_', scan % 5, ".nii"), scan % 5);
  DataConfig data = volumes_of(folder);
  data.split.val = Json::array({"s6_1"});
  data.split.train = 0.9;
  data.split.test = 0.0;
  ASSERT_TRUE(error_of([&] { notes_on(data); }));
  DataConfig one_patient = data;
  one_patient.patient_pattern = "_([0-9])";
  one_patient.split.val = Json::array({"1"});
  EXPECT_THAT(notes_on(one_patient), IsEmpty());
  data.exclude = {"s1_*"};
  EXPECT_THAT(notes_on(data), IsEmpty());
}

TEST(Copies, OfFilesThatCannotBeReadAreNone) {
  CaseFolder folder;
  folder.volume("p1/a.nii", 1).volume("p2/b.nii", 1);
  Index index = indexed(volumes_of(folder));
  std::filesystem::remove(folder.path() / "p2/b.nii");
  EXPECT_THAT(groups(index), IsEmpty());
}

}  // namespace
}  // namespace larmor
