#include <algorithm>
#include <cmath>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/transforms/sampling.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

Affine scaled(double x, double y, double z) {
  return {{{x, 0, 0, -5}, {0, y, 0, 6}, {0, 0, z, 7}, {0, 0, 0, 1}}};
}

// 29 kB of 39 mm a voxel became 1.9 GB in each thread that loads; of 1e30 mm a size that no whole number
// holds.
TEST(Resample, RefusesGrowthThatOnlyAMistakenUnitMakes) {
  for (const double spacing : {39.0, 1e30}) {
    const Volume volume{at::ones({1, 20, 20, 20}), scaled(spacing, spacing, spacing)};
    try {
      resample(volume, {1, 1, 1}, Interpolation::trilinear);
      FAIL() << "not refused: " << spacing;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::data);
      EXPECT_THAT(error.message(), ::testing::HasSubstr("times as many voxels"));
      EXPECT_THAT(error.hint(), ::testing::HasSubstr("millimetres"));
    }
  }
  EXPECT_EQ(resample({at::ones({1, 20, 20, 20}), scaled(5, 5, 5)}, {1, 1, 1}, Interpolation::trilinear)
                .voxels.size(1),
            96);
}

/// The definition, in double: eight corners, border outside.
at::Tensor plain_sample(const at::Tensor& voxels, const Affine& map, const GridSize& size) {
  const at::Tensor source = voxels.to(at::kDouble).contiguous();
  at::Tensor result = at::zeros({voxels.size(0), size[0], size[1], size[2]}, at::kDouble);
  const auto in = source.accessor<double, 4>();
  auto out = result.accessor<double, 4>();
  for (int64_t x = 0; x < size[0]; ++x) {
    for (int64_t y = 0; y < size[1]; ++y) {
      for (int64_t z = 0; z < size[2]; ++z) {
        const auto place =
            position(map, {static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)});
        for (int corner = 0; corner < 8; ++corner) {
          double weight = 1;
          int64_t index[3];
          for (int axis = 0; axis < 3; ++axis) {
            const double last = static_cast<double>(source.size(axis + 1) - 1);
            const double inside = std::clamp(place[static_cast<std::size_t>(axis)], 0.0, last);
            const double low = std::floor(inside);
            weight *= corner >> axis & 1 ? inside - low : 1 - (inside - low);
            index[axis] = static_cast<int64_t>(std::min(low + (corner >> axis & 1), last));
          }
          for (int64_t c = 0; c < source.size(0); ++c)
            out[c][x][y][z] += weight * in[c][index[0]][index[1]][index[2]];
        }
      }
    }
  }
  return result;
}

void expect_close(const at::Tensor& actual, const at::Tensor& expected) {
  ASSERT_EQ(actual.sizes(), expected.sizes());
  EXPECT_LT((actual.to(at::kDouble) - expected).abs().max().item<double>(), 1e-6);
}

TEST(Sampling, FollowsTheDefinitionOnParallelAndOnTurnedGridsAndInAnyStrides) {
  at::manual_seed(1);
  const at::Tensor voxels = at::rand({2, 5, 6, 7});
  const at::Tensor like_a_file = voxels.permute({0, 3, 2, 1}).contiguous().permute({0, 3, 2, 1});
  const at::Tensor channel_fastest = voxels.permute({1, 2, 3, 0}).contiguous().permute({3, 0, 1, 2});
  Affine parallel = scaled(0.7, 1.3, 0.45);
  parallel[0][3] = -0.4, parallel[1][3] = 0.2, parallel[2][3] = 0;
  Affine turned = parallel;
  turned[0][1] = 0.3, turned[2][0] = -0.2, turned[1][2] = 0.1;
  for (const Affine& map : {parallel, turned}) {
    const at::Tensor expected = plain_sample(voxels, map, {8, 5, 16});
    for (const at::Tensor& given : {voxels, like_a_file, channel_fastest}) {
      expect_close(sample(given, map, {{8, 5, 16}, {}, {8, 5, 16}}, {}), expected);
    }
  }
}

TEST(Sampling, GivesAPartTheBitsOfTheWhole) {
  const at::Tensor voxels = at::rand({1, 9, 8, 7}).permute({0, 3, 2, 1});
  Affine turned = scaled(0.7, 0.6, 1.1);
  turned[0][2] = 0.25;
  for (const Affine& map : {scaled(0.7, 0.6, -1.1), turned}) {
    for (const auto interpolation : {Interpolation::nearest, Interpolation::trilinear}) {
      for (const auto outside : {Outside::zeros, Outside::border, Outside::reflection}) {
        const Sampling sampling{interpolation, outside};
        const at::Tensor whole = sample(voxels, map, {{9, 10, 150}, {}, {9, 10, 150}}, sampling);
        const at::Tensor part = sample(voxels, map, {{9, 10, 150}, {2, 3, 61}, {4, 7, 70}}, sampling);
        EXPECT_TRUE(part.equal(whole.narrow(1, 2, 4).narrow(2, 3, 7).narrow(3, 61, 70)));
      }
    }
  }
}

TEST(Sampling, TakesAxesOfOneVoxel) {
  const at::Tensor voxels = at::arange(4, at::kFloat).view({1, 4, 1, 1});
  const Affine half = scaled(0.5, 0.5, 0.5);
  Affine map = half;
  map[0][3] = map[1][3] = map[2][3] = 0;
  expect_close(sample(voxels, map, {{7, 2, 1}, {}, {7, 2, 1}}, {}), plain_sample(voxels, map, {7, 2, 1}));
}

TEST(Spacing, KeepsTheFirstVoxelAndCountsAsMonaiDoes) {
  const Volume source{at::rand({1, 10, 11, 12}), scaled(1, 2, 3)};
  const Volume result = resample(source, {1.1, 1, 7});
  EXPECT_EQ(result.voxels.sizes(), (std::vector<int64_t>{1, 9, 21, 6}));  // 9/1.1+1, 20/1+1, 33/7+1 rounded
  EXPECT_EQ(position(result.affine, {}), position(source.affine, {}));
  EXPECT_THAT(spacing_of(result.affine),
              ElementsAre(DoubleNear(1.1, 1e-12), DoubleNear(1, 1e-12), DoubleNear(7, 1e-12)));
  EXPECT_EQ(result.voxels[0][0][0][0].item<float>(), source.voxels[0][0][0][0].item<float>());
  EXPECT_EQ(result.voxels[0][0][2][0].item<float>(), source.voxels[0][0][1][0].item<float>());
}

TEST(Spacing, KeepsAStraightSlopeStraight) {
  const at::Tensor x = at::arange(10, at::kFloat).view({1, 10, 1, 1}).expand({1, 10, 4, 4});
  const Volume result = resample({x, scaled(2, 2, 2)}, {0.5, 2, 2});
  EXPECT_EQ(result.voxels.size(1), 37);
  EXPECT_TRUE(result.voxels.select(2, 1).select(2, 1)[0].allclose(at::arange(37, at::kFloat) * 0.25));
}

TEST(Spacing, GivesBorderValuesBeyondTheLastVoxel) {
  const at::Tensor line = at::tensor({0.0F, 10.0F}).view({1, 2, 1, 1});
  const Volume result = resample({line, scaled(3, 1, 1)}, {2, 1, 1});  // 3/2 + 1 = 2.5, to even: 2
  EXPECT_EQ(result.voxels.size(1), 2);
  const Volume longer =
      resample({at::tensor({0.0F, 5.0F, 10.0F}).view({1, 3, 1, 1}), scaled(3, 1, 1)}, {2.2, 1, 1});
  EXPECT_EQ(longer.voxels.size(1), 4);  // 6/2.2 + 1 = 3.7: the last is 0.6 mm outside
  EXPECT_EQ(longer.voxels[0][3][0][0].item<float>(), 10);
}

TEST(Spacing, ReturnsTheVolumeItselfWhenNothingChanges) {
  const Volume source{at::rand({1, 4, 5, 6}), scaled(1, 2, 3)};
  EXPECT_TRUE(resample(source, {1.0005, 2, 3}).voxels.is_same(source.voxels));
  EXPECT_TRUE(resample(source, {-1, 2, 0}).voxels.is_same(source.voxels));
  EXPECT_EQ(resample(source, {1.0005, 1, 3}).affine[0][0], 1) << "an axis within 0.001 mm keeps its spacing";
}

TEST(Spacing, TakesTheNearestVoxelWhenAsked) {
  const Volume labels{at::arange(24, at::kFloat).view({1, 2, 3, 4}), scaled(1, 1, 1)};
  const Volume result = resample(labels, {1, 1, 0.4}, Interpolation::nearest);
  EXPECT_EQ(result.voxels.size(3), 8);  // 3/0.4 + 1 = 8.5, to even
  EXPECT_TRUE(result.voxels[0][0][0].equal(at::tensor({0.0F, 0.0F, 1.0F, 1.0F, 2.0F, 2.0F, 2.0F, 3.0F})));
}

TEST(Spacing, TakesShearOut) {
  Affine sheared = scaled(1, 1, 1);
  sheared[0][1] = 0.2;
  const Volume source{at::rand({1, 8, 9, 10}), sheared};
  const Volume result = resample(source, {1, 1, 1});
  double dot = 0;
  for (int row = 0; row < 3; ++row) dot += result.affine[row][0] * result.affine[row][1];
  EXPECT_NEAR(dot, 0, 1e-12);
  const auto back = inverse(source.affine);
  const GridSize size{result.voxels.size(1), result.voxels.size(2), result.voxels.size(3)};
  expect_close(result.voxels, plain_sample(source.voxels, compose(*back, result.affine), size));
}

TEST(Spacing, RefusesWhatCannotBeResampled) {
  Affine singular = identity_affine();
  singular[1][1] = 0;
  EXPECT_THROW(resample({at::zeros({1, 2, 2, 2}), singular}, {1, 1, 1}), Error);
  EXPECT_THROW(resample({at::zeros({1, 100, 100, 100}), identity_affine()}, {0.01, 0.01, 0.01}), Error)
      << "too large";
}

}  // namespace
}  // namespace larmor
