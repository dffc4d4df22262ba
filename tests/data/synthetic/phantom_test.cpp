#include "larmor/data/synthetic/phantom.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/data/synthetic/smooth_noise.h"

namespace larmor {
namespace {

TEST(MakePhantom, IsAFunctionOfSeedNumberAndSize) {
  const Volume first = make_phantom(3, 5, {24, 20, 16});
  EXPECT_EQ(first.voxels.sizes(), (std::vector<int64_t>{1, 24, 20, 16}));
  EXPECT_EQ(first.voxels.scalar_type(), at::kFloat);
  EXPECT_TRUE(make_phantom(3, 5, {24, 20, 16}).voxels.equal(first.voxels));
  EXPECT_FALSE(make_phantom(3, 6, {24, 20, 16}).voxels.equal(first.voxels));
  EXPECT_FALSE(make_phantom(4, 5, {24, 20, 16}).voxels.equal(first.voxels));
}

TEST(MakePhantom, StaysWithinItsRange) {
  for (int64_t number = 0; number < 8; ++number) {
    const at::Tensor voxels = make_phantom(0, number, {32, 32, 32}).voxels;
    EXPECT_TRUE(at::isfinite(voxels).all().item<bool>());
    EXPECT_GE(voxels.min().item<float>(), 0);
    EXPECT_LT(voxels.max().item<float>(), 1200);
    EXPECT_GT(voxels.max().item<float>(), 700);
  }
}

TEST(MakePhantom, WorksForAnySize) {
  for (const std::vector<int64_t>& size : {std::vector<int64_t>{1, 1, 1}, {64, 3, 1}, {7, 40, 90}}) {
    EXPECT_TRUE(at::isfinite(make_phantom(1, 0, size).voxels).all().item<bool>());
  }
}

TEST(MakePhantom, PutsTheMiddleOfTheGridAtTheOriginOfTheWorld) {
  const Volume volume = make_phantom(1, 0, {51, 102, 204});
  EXPECT_DOUBLE_EQ(volume.affine[0][0], 4);
  EXPECT_DOUBLE_EQ(volume.affine[1][1], 2);
  EXPECT_DOUBLE_EQ(volume.affine[2][2], 1);
  EXPECT_DOUBLE_EQ(volume.affine[0][3], -100);
  EXPECT_DOUBLE_EQ(volume.affine[1][3], -101);
}

// Voxels above the noise of the air along one line through the middle.
int64_t extent_along(const at::Tensor& volume, int64_t axis) {
  at::Tensor above = volume > 200;
  for (int64_t other = 2; other >= 0; --other) {
    if (other != axis) above = std::get<0>(above.max(other));
  }
  return above.sum().item<int64_t>();
}

TEST(MakePhantom, IsAHead) {
  for (int64_t number = 0; number < 6; ++number) {
    const at::Tensor voxels = make_phantom(0, number, {68, 68, 68}).voxels[0];  // 3 mm
    EXPECT_NEAR(static_cast<double>(extent_along(voxels, 0)) * 3, 150, 15) << number;
    EXPECT_NEAR(static_cast<double>(extent_along(voxels, 1)) * 3, 188, 18) << number;
    const auto mean = [&voxels](int64_t x, int64_t y, int64_t z) {
      return voxels.slice(0, x - 1, x + 2).slice(1, y - 1, y + 2).slice(2, z - 1, z + 2).mean().item<float>();
    };
    EXPECT_LT(mean(2, 2, 66), 60) << "air in the corner";
    EXPECT_GT(mean(34, 20, 46), 300) << "brain behind the middle";
    // From above to the middle: scalp is bright, the bone under it dark.
    const at::Tensor line = voxels.slice(0, 33, 36).slice(1, 33, 36).mean(at::IntArrayRef({0, 1}));
    int64_t skin = 67;
    while (line[skin].item<float>() < 400) --skin;
    EXPECT_LT(line.slice(0, skin - 5, skin).min().item<float>(), 250) << "skull under the scalp";
  }
}

TEST(MakePhantom, ShowsTheSameHeadAtEverySize) {
  const at::Tensor coarse = make_phantom(0, 1, {32, 32, 32}).voxels[0];
  const at::Tensor fine = make_phantom(0, 1, {64, 64, 64}).voxels[0];
  const at::Tensor halved = fine.view({32, 2, 32, 2, 32, 2}).mean(at::IntArrayRef({1, 3, 5}));
  const double correlation =
      at::corrcoef(at::stack({coarse.flatten(), halved.flatten()}))[0][1].item<double>();
  EXPECT_GT(correlation, 0.9);
}

TEST(SmoothNoise, IsSmoothAndOfUnitDeviation) {
  double squares = 0, steps = 0;
  constexpr int fields = 20;
  for (uint64_t i = 0; i < fields; ++i) {
    const auto field = smooth_noise(make_key(i, 0, 0, "noise"), 8, {32, 32, 32});
    ASSERT_EQ(field.size(), size_t{32} * 32 * 32);
    const at::Tensor values = at::from_blob(const_cast<float*>(field.data()), {32, 32, 32});
    squares += values.square().mean().item<double>() / fields;
    steps += values.diff().square().mean().item<double>() / fields;
  }
  EXPECT_NEAR(squares, 1, 0.1);
  EXPECT_LT(steps, 0.1);
}

}  // namespace
}  // namespace larmor
