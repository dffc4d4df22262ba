#include "larmor/transforms/common_grid.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

Volume numbered_grid() { return {at::arange(4 * 5 * 6, at::kFloat).view({1, 4, 5, 6}), identity_affine()}; }

Volume on_that_grid(const Volume& volume, const CommonGrid& rule = {}) {
  return on_grid_of(numbered_grid(), "t1", volume, "t2", rule);
}

TEST(CommonGrid, LeavesAVolumeAsItIsThatLiesThere) {
  Volume near = numbered_grid();
  near.affine[0][3] += 5e-4;  // mm: headers round
  EXPECT_TRUE(on_that_grid(near).voxels.equal(near.voxels));
  EXPECT_EQ(on_that_grid(near).affine, near.affine);
}

TEST(CommonGrid, TurnsTheAxesOfTheSameVoxels) {
  EXPECT_TRUE(on_that_grid(orient(numbered_grid(), "PIL")).voxels.equal(numbered_grid().voxels));
}

TEST(CommonGrid, SamplesWhatLiesElsewhereWhereItIsTold) {
  Volume moved = numbered_grid();
  moved.affine[0][3] = 1;  // mm: one voxel on
  const at::Tensor sampled = on_that_grid(moved, {.resamples = true}).voxels;
  EXPECT_TRUE(sampled.slice(1, 1, 4).allclose(numbered_grid().voxels.slice(1, 0, 3)));
  moved.affine[0][3] = 0.4;
  const CommonGrid nearest{.resamples = true, .interpolation = Interpolation::nearest};
  EXPECT_TRUE(on_that_grid(moved, nearest).voxels.equal(numbered_grid().voxels));
}

// A mask whose origin differs by 0.0011 mm: both grids have as many voxels.
TEST(CommonGrid, SaysHowFarApartGridsOfOneSizeLie) {
  Volume moved = numbered_grid();
  moved.affine[0][3] += 0.0011;
  try {
    on_that_grid(moved);
    FAIL() << "two grids are one";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("lies up to 0.0011 mm away from that of t1"));
  }
}

TEST(CommonGrid, RefusesItByNameOtherwise) {
  try {
    on_that_grid(center_crop(numbered_grid(), {4, 5, 3}));
    FAIL() << "two grids are one";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    EXPECT_THAT(error.message(), HasSubstr("t2: its grid has 4 x 5 x 3 voxels, and that of t1 4 x 5 x 6"));
    EXPECT_THAT(error.hint(), HasSubstr("data.grids=resample"));
  }
}

}  // namespace
}  // namespace larmor
