#include "larmor/data/case_reader.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/text.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/formats/volume.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using testing::CaseFolder;

/// A sample of an image and its label, both the same ramp, through a chain that blurs and scales.
Sample blurred(const std::string& label) {
  const Json chain = parse_json(R"([
      {"Spacing": {"pixdim": [0.7, 0.7, 0.7], "mode": "bilinear"}},
      {"ScaleIntensityRange": {"a_min": 0, "a_max": 2}},
      {"RandAffine": {"prob": 1, "rotate_range": [0.3, 0.3, 0.3], "keys": ["image", "label"], "mode": "bilinear"}}])",
                                "chain");
  CaseFolder folder;
  DiskStorage storage;
  const Volume ramp{at::arange(24, at::kFloat).reshape({1, 2, 3, 4}), identity_affine()};
  for (const std::string& name : {std::string("image.nii"), label})
    write_nifti(storage, folder.path() / name, ramp);
  folder.file("list.csv", text("patient,image,label\np1,image.nii,", label, "\n"));
  DataConfig data;
  data.kind = "list";
  data.list = (folder.path() / "list.csv").string();
  data.split.train = 1;
  data.split.val = data.split.test = 0;
  return make_volume_dataset(data, make_index(data, 1), Split::train, chain)->get({1, 0, 0});
}

// MONAI's `label` is a mask; here it may be an image as well. Steps for the key `label` are for either.
TEST(CaseReader, KeepsTheClassesOfALabelThatIsCalledLikeAMask) {
  const Sample sample = blurred("a_seg.nii");
  ASSERT_TRUE(sample.contains("mask_label"));
  const at::Tensor mask = sample.at("mask_label");
  EXPECT_TRUE(mask.eq(mask.round()).all().item<bool>());
  EXPECT_GT(mask.max().item<float>(), 10);
  EXPECT_FALSE(mask.eq(mask.flatten()[0]).all().item<bool>());
  EXPECT_FALSE(sample.contains("label"));
}

TEST(CaseReader, TreatsALabelThatIsAScanAsItsImage) {
  const Sample sample = blurred("a_label.nii");
  EXPECT_TRUE(sample.at("label").equal(sample.at("image")));
}

/// The label of a case of one voxel more than nothing, for a stage that says how many classes there are.
Sample labelled(float largest, int64_t classes, const std::string& label_column = ",a_label.nii") {
  CaseFolder folder;
  DiskStorage storage;
  write_nifti(storage, folder.path() / "image.nii", {at::rand({1, 2, 2, 2})});
  at::Tensor label = at::zeros({1, 2, 2, 2});
  label[0][1][1][1] = largest;
  write_nifti(storage, folder.path() / "a_label.nii", {label});
  folder.file("list.csv", text("patient,image", label_column.empty() ? "" : ",label", "\np1,image.nii",
                               label_column, "\n"));
  DataConfig data;
  data.kind = "list";
  data.list = (folder.path() / "list.csv").string();
  data.split.train = 1;
  data.split.val = data.split.test = 0;
  return make_volume_dataset(data, make_index(data, 1), Split::train, Json::array(),
                             {.label_classes = classes})
      ->get({1, 0, 0});
}

std::string refusal_of(float largest, int64_t classes, const std::string& label_column = ",a_label.nii") {
  try {
    labelled(largest, classes, label_column);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    return error.message() + " | " + error.hint();
  }
  return "accepted";
}

TEST(CaseReader, TakesALabelForAMapOfClassesWhereTheStageSaysSo) {
  const Sample sample = labelled(2, 3);
  ASSERT_TRUE(sample.contains("mask_label"));
  EXPECT_FALSE(sample.contains("label"));
  EXPECT_EQ(sample.at("mask_label").max().item<float>(), 2);
  EXPECT_TRUE(labelled(2, 0).contains("label")) << "where it says nothing, the file's name does";
}

TEST(CaseReader, RefusesAClassThatTheStageDoesNotKnowAndACaseWithoutALabel) {
  EXPECT_THAT(refusal_of(3, 3), AllOf(::testing::HasSubstr("a_label.nii"), ::testing::HasSubstr("0 to 2"),
                                      ::testing::HasSubstr("voxel of 3")));
  EXPECT_THAT(refusal_of(1.5, 3), ::testing::HasSubstr("voxel of 1.5"));
  EXPECT_THAT(refusal_of(1, 2, ""), ::testing::HasSubstr("no label map"));
  EXPECT_EQ(refusal_of(1, 2), "accepted");
}

}  // namespace
}  // namespace larmor
