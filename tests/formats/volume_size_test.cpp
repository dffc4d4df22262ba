#include "larmor/formats/volume_size.h"

#include <fstream>

#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/files/storage.h"
#include "larmor/formats/volume.h"

namespace larmor {
namespace {

TEST(VolumeSize, IsKnownOfAVolumeAndOfNothingElse) {
  const ScratchFolder scratch;
  DiskStorage storage;
  Affine affine = identity_affine();
  affine[0][0] = 2;
  write_nifti(storage, scratch.path() / "a.nii", {at::zeros({2, 3, 4, 5}), affine});
  const auto size = size_of_volume(scratch.path() / "a.nii");
  ASSERT_TRUE(size);
  EXPECT_EQ(size->voxels, (std::array<int64_t, 3>{3, 4, 5}));
  EXPECT_EQ(size->affine, affine);
  std::ofstream(scratch.path() / "torn.nii") << "no volume";
  EXPECT_FALSE(size_of_volume(scratch.path() / "torn.nii"));
  EXPECT_FALSE(size_of_volume(scratch.path() / "absent.nii"));
}

}  // namespace
}  // namespace larmor
