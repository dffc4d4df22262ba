#include "larmor/data/index/modality_cases.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/data/index/index.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using testing::CaseFolder;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

DataConfig all_of(const CaseFolder& folder) {
  DataConfig data;
  data.folder = folder.path().string();
  return data;
}

/// Two patients' folders as BraTS has them, the second without one modality, and what lies about.
DataConfig brats(CaseFolder& folder) {
  for (const char* const modality : {"t1n", "t1c", "t2w", "t2f", "seg"}) {
    folder.volume(text("BraTS-1/BraTS-1-", modality, ".nii.gz"));
    if (modality != std::string("t2f")) folder.volume(text("BraTS-2/BraTS-2-", modality, ".nii.gz"));
  }
  folder.volume("BraTS-2/notes.nii");
  DataConfig data = all_of(folder);
  data.modalities = parse_json(
      R"({"t1n": ["t1", "t1n"], "t1c": ["t1ce", "t1c"], "t2w": "t2w", "t2f": ["flair", "t2f"], "label": "seg"})",
      "modalities");
  return data;
}

TEST(ModalityCases, JoinsTheModalitiesOfACaseInTheOrderDeclared) {
  CaseFolder folder;
  const Index index = make_index(brats(folder), 1);
  ASSERT_EQ(index.cases.size(), 2U);
  EXPECT_THAT(index.channels, ElementsAre("t1n", "t1c", "t2w", "t2f"));
  EXPECT_EQ(index.cases[0].files.at("image_t1n"), "BraTS-1/BraTS-1-t1n.nii.gz");
  EXPECT_EQ(index.cases[0].files.at("label"), "BraTS-1/BraTS-1-seg.nii.gz");
  EXPECT_EQ(index.cases[0].files.size(), 5U);
  EXPECT_EQ(index.cases[1].files.count("image_t2f"), 0U);
  EXPECT_EQ(index.cases[1].patient, "BraTS-2");
  EXPECT_THAT(index.patients_by, HasSubstr("1 file is of no modality"));
  const Index again = index_from_json(to_json(index));
  EXPECT_EQ(again.channels, index.channels);
}

TEST(ModalityCases, JoinsFilesOfAnyKindThatEndAsDeclared) {
  CaseFolder folder;
  folder.volume("x1.nii")
      .volume("x1_ct.nii")
      .archive("x1_pa_drr.npz", {4, 4})
      .archive("x1_lat_drr.npz", {4, 4});
  folder.volume("x2_CT.nii").archive("x2_pa_drr.npz", {4, 4}).archive("x2_lat_drr.npz", {4, 4});
  DataConfig data = all_of(folder);
  data.modalities =
      parse_json(R"({"ct": "ct", "pa": "pa_drr", "lateral": ["drr", "lat_drr"]})", "modalities");
  const Index index = make_index(data, 1);
  ASSERT_EQ(index.cases.size(), 2U);
  EXPECT_EQ(index.cases[0].files.at("image_lateral"), "x1_lat_drr.npz") << "the longest ending";
  EXPECT_EQ(index.cases[1].files.at("image_pa"), "x2_pa_drr.npz");
  EXPECT_EQ(index.cases[1].patient, "x2");
}

TEST(ModalityCases, RefusesTwoFilesOfOneModality) {
  CaseFolder folder;
  DataConfig data = brats(folder);
  folder.volume("BraTS-1/BraTS-1-t1.nii.gz");
  const auto error = error_of([&] { make_index(data, 1); });
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("are both the t1n of one case"));
}

TEST(ModalityCases, SaysWhatItLookedForWhereNoFileIsOfAModality) {
  CaseFolder folder;
  folder.volume("a.nii");
  DataConfig data = all_of(folder);
  data.modalities = parse_json(R"({"t1": "t1"})", "modalities");
  const auto error = error_of([&] { make_index(data, 1); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->exit(), Exit::data);
  EXPECT_THAT(error->message(), HasSubstr("t1 (t1)"));
  data.modalities = Json::array();
  EXPECT_EQ(error_of([&] { make_index(data, 1); })->exit(), Exit::usage);
}

TEST(ModalityCases, HashTheOrderOfChannelsWhereItIsNotThatOfTheirNames) {
  CaseFolder folder;
  Index index = make_index(brats(folder), 1);
  const auto declared = index.sha256();
  std::sort(index.channels.begin(), index.channels.end());
  const auto sorted = index.sha256();
  EXPECT_NE(sorted, declared);
  index.channels.clear();
  EXPECT_EQ(index.sha256(), sorted) << "runs of earlier versions are gone on with";
}

}  // namespace
}  // namespace larmor
