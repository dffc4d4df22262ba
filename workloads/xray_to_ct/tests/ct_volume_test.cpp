#include "workloads/xray_to_ct/data/ct_volume.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/transforms/transforms.h"

#include "workloads/xray_to_ct/data/alignment.h"
#include "workloads/xray_to_ct/data/chest_phantom.h"

namespace larmor::xray_to_ct::testing {
namespace {

/// A chest of 400 mm and 80 voxels an edge.
Volume chest(int64_t number = 0) { return draw_chest(chest_parts(1, number), 400, 80); }

Volume shrunk(Volume ct, int64_t axis, int64_t first, int64_t end) {
  ct.voxels = ct.voxels.slice(axis + 1, first, end);
  for (size_t row = 0; row < 3; ++row)
    ct.affine[row][3] += static_cast<double>(first) * ct.affine[row][static_cast<size_t>(axis)];
  return ct;
}

std::string refusal_of_ct(const Volume& ct) {
  try {
    check_ct(oriented_ct(ct), PairConfig{});
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
    return error.message();
  }
  return "";
}

/// Turned about z, as a patient who lies askew is scanned: the same voxels elsewhere in the world.
Volume turned(Volume ct, double degrees) {
  const double c = std::cos(degrees * M_PI / 180), s = std::sin(degrees * M_PI / 180);
  const Affine turn{{{c, -s, 0, 0}, {s, c, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
  ct.affine = compose(turn, ct.affine);
  return ct;
}

TEST(CtVolume, AxesAreDepthHeightAndWidthHoweverTheFileHasThem) {
  const Volume plain = chest();
  for (const char* codes : {"RAS", "LPS", "SRA", "PIR"}) {
    const Volume oriented = oriented_ct(orient(plain, codes));
    EXPECT_TRUE(at::equal(oriented.voxels, plain.voxels)) << codes;
    EXPECT_TRUE(oriented.voxels.is_contiguous());
    for (size_t row = 0; row < 3; ++row) {
      for (size_t column = 0; column < 4; ++column)
        EXPECT_NEAR(oriented.affine[row][column], plain.affine[row][column], 1e-6);
    }
  }
}

TEST(CtVolume, ATiltedCtIsBroughtOntoTheAxesOfTheBody) {
  // What lies 60 mm to the right and 20 mm to the front in the file's own axes lies elsewhere in the world.
  const Volume straight = oriented_ct(turned(chest(), 20));
  for (size_t axis = 0; axis < 3; ++axis) EXPECT_NEAR(spacing_of(straight.affine)[axis], 5, 1e-6);
  const Volume back = oriented_ct(turned(straight, -20));
  const at::Tensor again = in_cube(back, 400, 80).voxels;
  EXPECT_GT(correlation_of(again, chest().voxels), 0.99) << "sampled twice, and back where it was";
  EXPECT_LT(correlation_of(in_cube(straight, 400, 80).voxels, chest().voxels), 0.95);
  EXPECT_EQ(straight.voxels[0][0][0][0].item<double>(), -1000) << "beside the scanned region is air";
}

TEST(CtVolume, ACubeHoldsTheMeansOfWhatItsVoxelsCover) {
  const Volume ct = chest();
  const Volume half = in_cube(ct, 400, 40);
  const at::Tensor means = at::avg_pool3d(ct.voxels, 2);
  // Lines between voxels reach a quarter of a voxel over the border of a pair: not quite the mean of eight.
  EXPECT_LT((half.voxels - means).abs().mean().item<double>(), 6);
  EXPECT_NEAR(half.voxels.mean().item<double>(), ct.voxels.mean().item<double>(), 2);
  EXPECT_EQ(half.affine, cube_positions(400, 40));
  // Of a cube that is larger, the rest is air, and what is where stays where it is.
  const Volume wide = in_cube(ct, 800, 80);
  EXPECT_EQ(wide.voxels[0][0][40][40].item<double>(), -1000);
  EXPECT_LT((wide.voxels.slice(1, 20, 60).slice(2, 21, 59).slice(3, 20, 60) - half.voxels.slice(2, 1, 39))
                .abs()
                .max()
                .item<double>(),
            1e-2);
}

TEST(CtVolume, ABodyThatLiesAsideIsBroughtToTheMiddle) {
  Volume ct = chest();
  ct.affine[0][3] += 130;
  ct.affine[1][3] -= 70;
  ct.affine[2][3] += 900;
  const Volume centred = centred_ct(oriented_ct(ct), 400);
  const auto place = position(centred.affine, {39.5, 39.5, 39.5});
  EXPECT_NEAR(place[0], 0, 15);
  EXPECT_NEAR(place[1], 0, 40) << "the spine and the table's side weigh more than the front";
  EXPECT_NEAR(place[2], 0, 5);
}

TEST(CtVolume, ALongCtIsCutAroundTheLungs) {
  // 480 mm more of the same below, without lungs.
  Volume ct = chest();
  at::Tensor belly = ct.voxels.slice(2, 79, 80).expand({1, 80, 96, 80});
  ct.voxels = at::cat({ct.voxels, belly}, 2);
  const Volume centred = centred_ct(oriented_ct(ct), 400);
  EXPECT_LE(centred.voxels.size(2), 83);
  const auto thin_voxels = [](const at::Tensor& voxels) {
    return voxels.lt(-780).logical_and(voxels.gt(-910)).sum().item<double>();
  };
  EXPECT_GT(thin_voxels(centred.voxels), 0.99 * thin_voxels(chest().voxels));
}

TEST(CtVolume, WhatIsNoCtOfAWholeChestIsRefused) {
  using ::testing::HasSubstr;
  EXPECT_EQ(refusal_of_ct(chest()), "");
  EXPECT_THAT(refusal_of_ct(shrunk(chest(), 2, 26, 54)),
              HasSubstr("does not cover the body: it is cut off at the"));
  EXPECT_THAT(refusal_of_ct(shrunk(chest(), 0, 0, 40)), HasSubstr("cut off at the front"));
  EXPECT_THAT(refusal_of_ct(shrunk(chest(), 1, 30, 50)), HasSubstr("shows 100 mm along the body"));
  Volume gaps = chest();
  gaps.voxels = gaps.voxels.slice(2, 0, 80, 4);
  for (size_t row = 0; row < 3; ++row) gaps.affine[row][1] *= 4;
  EXPECT_THAT(refusal_of_ct(gaps), HasSubstr("its slices lie 20.0 mm apart"));
  Volume counts = chest();
  counts.voxels = counts.voxels + 1024;  // as stored, without the intercept
  EXPECT_THAT(refusal_of_ct(counts), HasSubstr("are not HU of a body in air"));
  Volume wild = chest();
  wild.voxels = wild.voxels * 100;
  EXPECT_THAT(refusal_of_ct(wild), HasSubstr("are not HU"));
  Volume mask = chest();
  mask.voxels = mask.voxels.gt(0).to(at::kFloat);
  EXPECT_THAT(refusal_of_ct(mask), HasSubstr("its values from 0 to 1 are not HU"));
  Volume colours = chest();
  colours.voxels = at::cat({colours.voxels, colours.voxels});
  EXPECT_THAT(refusal_of_ct(colours), HasSubstr("has 2 channels"));
}

}  // namespace
}  // namespace larmor::xray_to_ct::testing
