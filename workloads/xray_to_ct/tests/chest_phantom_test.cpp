#include "workloads/xray_to_ct/data/chest_phantom.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "workloads/xray_to_ct/data/pair_config.h"

namespace larmor::xray_to_ct::testing {
namespace {

constexpr double extent = 400;

/// The HU where the last part that holds a point says, by the definition of an ellipsoid.
double hu_at(const std::vector<ChestPart>& parts, const std::array<double, 3>& place) {
  double hu = -1000;
  for (const ChestPart& part : parts) {
    double square = 0;
    for (size_t i = 0; i < 3; ++i) square += std::pow((place[i] - part.middle[i]) / part.radii[i], 2);
    if (square < 1) hu = part.hu;
  }
  return hu;
}

TEST(ChestPhantom, TheSameNumberGivesTheSameChestAndAnotherOneAnother) {
  const at::Tensor chest = draw_chest(chest_parts(1, 7), extent, 32).voxels;
  EXPECT_TRUE(at::equal(chest, draw_chest(chest_parts(1, 7), extent, 32).voxels));
  EXPECT_GT((chest - draw_chest(chest_parts(1, 8), extent, 32).voxels).abs().mean().item<double>(), 5);
  EXPECT_GT((chest - draw_chest(chest_parts(2, 7), extent, 32).voxels).abs().mean().item<double>(), 5);
}

TEST(ChestPhantom, VoxelsAreWhatThePartsSayWhereTheyLie) {
  const auto parts = chest_parts(3, 0);
  const Volume chest = draw_chest(parts, extent, 64);
  ASSERT_EQ(chest.voxels.sizes(), at::IntArrayRef({1, 64, 64, 64}));
  int64_t equal = 0, all = 0;
  for (int64_t d = 0; d < 64; d += 3) {
    for (int64_t h = 0; h < 64; h += 3) {
      for (int64_t w = 0; w < 64; w += 3) {
        const auto place = position(chest.affine, {double(d), double(h), double(w)});
        equal += std::abs(chest.voxels[0][d][h][w].item<double>() - hu_at(parts, place)) < 1 ? 1 : 0;
        ++all;
      }
    }
  }
  // The rest lies on an edge, which is as soft as a voxel.
  EXPECT_GT(static_cast<double>(equal), 0.85 * static_cast<double>(all));
}

TEST(ChestPhantom, TheHeartIsOnTheLeftTheLiverOnTheRightAndTheSpineBehind) {
  const at::Tensor chest = draw_chest(chest_parts(1, 0), extent, 64).voxels[0];
  // Halves of the cube: width grows to the left, height to the feet, depth to the front.
  const at::Tensor lungs = chest.lt(-700).logical_and(chest.gt(-950)).to(at::kDouble);
  EXPECT_GT(lungs.slice(2, 0, 32).sum().item<double>(), 1.05 * lungs.slice(2, 32).sum().item<double>())
      << "the heart takes of the left lung";
  const at::Tensor bone = chest.gt(200).to(at::kDouble).slice(2, 29, 35);
  EXPECT_GT(bone.slice(0, 0, 32).sum().item<double>(), 2 * bone.slice(0, 32).sum().item<double>());
}

TEST(ChestPhantom, NodulesLieInLungs) {
  int64_t nodules = 0;
  for (int64_t number = 0; number < 30; ++number) {
    auto parts = chest_parts(5, number);
    while (parts.back().radii[0] > 7.01 || parts.back().radii[0] < 5 || parts.back().hu < 91) {
      const ChestPart nodule = parts.back();
      if (nodule.hu > 91 || nodule.radii[0] != nodule.radii[1]) break;
      parts.pop_back();
      ++nodules;
      EXPECT_LT(hu_at(parts, nodule.middle), 100);
    }
  }
  EXPECT_GT(nodules, 10);
}

}  // namespace
}  // namespace larmor::xray_to_ct::testing
