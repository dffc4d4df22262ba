#include "larmor/data/index/mask_voxels.h"

#include <limits>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/storage.h"
#include "larmor/formats/volume.h"

#include "tests/support/cases.h"

namespace larmor {
namespace {

using testing::CaseFolder;
using ::testing::HasSubstr;

std::optional<int> classes_of(const std::vector<float>& voxels) { return count_classes(voxels); }

TEST(MaskVoxels, AreFewWholeValuesOfMoreThanOneKind) {
  EXPECT_EQ(classes_of({0, 0, 1, 1, 4, 0}), 3);
  EXPECT_EQ(classes_of({0, 255}), 2);
  std::vector<float> many;
  for (int i = 0; i < 16; ++i) many.push_back(static_cast<float>(i));
  EXPECT_EQ(classes_of(many), 16);
  many.push_back(16);
  EXPECT_EQ(classes_of(many), std::nullopt);
  EXPECT_EQ(classes_of({3, 3, 3}), std::nullopt) << "an image of one value says nothing";
  EXPECT_EQ(classes_of({0, 1, 0.5F}), std::nullopt);
  EXPECT_EQ(classes_of({0, -1}), std::nullopt);
  EXPECT_EQ(classes_of({0, std::numeric_limits<float>::quiet_NaN()}), std::nullopt);
  EXPECT_EQ(classes_of({}), std::nullopt);
}

TEST(MaskVoxels, AreFoundAmongTheImagesOfAnIndex) {
  CaseFolder folder;
  folder.volume("p1/blank.nii", 3).file("p2/damaged.nii", "no image");
  DiskStorage storage;
  const auto ramp = at::arange(60, at::kFloat).reshape({1, 3, 4, 5});
  write_nifti(storage, folder.path() / "p1" / "scan.nii", {ramp, identity_affine()});
  write_nifti(storage, folder.path() / "p3.nii", {ramp.remainder(3), identity_affine()});
  DataConfig data;
  data.folder = folder.path().string();
  const auto masks = find_likely_masks(make_index(data, 1));
  ASSERT_EQ(masks.size(), 1U);
  EXPECT_EQ(masks[0].path, "p3.nii");
  EXPECT_THAT(likely_masks_warning(masks).value(),
              HasSubstr("1 image holds few whole values, as masks do (p3.nii: 3"));
  EXPECT_FALSE(likely_masks_warning({}));
}

}  // namespace
}  // namespace larmor
