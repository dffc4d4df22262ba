#include "larmor/data/case_reader.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace larmor
