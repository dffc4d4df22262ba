#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

Volume volume_of(const at::Tensor& values) { return {values.view({1, -1, 1, 1}), identity_affine()}; }

/// By sorting everything.
double plain_percentile(const at::Tensor& values, double percent) {
  const at::Tensor sorted = std::get<0>(values.flatten().to(at::kDouble).sort());
  const double place = percent / 100 * static_cast<double>(sorted.numel() - 1);
  const auto low = static_cast<int64_t>(place);
  const int64_t high = std::min<int64_t>(low + 1, sorted.numel() - 1);
  const double a = sorted[low].item<double>(), b = sorted[high].item<double>();
  return a + (b - a) * (place - static_cast<double>(low));
}

TEST(Percentile, LiesBetweenOrderStatisticsAsNumpyPutsIt) {
  const at::Tensor four = at::tensor({4.0F, 1.0F, 3.0F, 2.0F});
  EXPECT_DOUBLE_EQ(percentile(four, 0), 1);
  EXPECT_DOUBLE_EQ(percentile(four, 40), 2.2);
  EXPECT_DOUBLE_EQ(percentile(four, 50), 2.5);
  EXPECT_DOUBLE_EQ(percentile(four, 100), 4);
  EXPECT_DOUBLE_EQ(percentile(at::tensor({7.0F}), 99.5), 7);
}

TEST(Percentile, FindsTheSameAsSortingForAnySignAndManyTies) {
  at::manual_seed(3);
  for (const at::Tensor& values :
       {at::randn({5000}) * 300, at::randint(-3, 4, {4097}, at::kFloat), at::rand({33}) * 1e-30,
        at::cat({at::zeros({5000}), at::rand({60})}), at::randn({2, 30, 40}).transpose(0, 2)}) {
    for (const double percent : {0.0, 0.01, 0.5, 25.0, 50.0, 99.0, 99.5, 99.99, 100.0}) {
      EXPECT_NEAR(percentile(values, percent), plain_percentile(values, percent),
                  1e-12 + 1e-12 * std::abs(plain_percentile(values, percent)))
          << percent;
    }
  }
}

TEST(Percentile, IsNotANumberWhenAVoxelIsNot) {
  EXPECT_TRUE(std::isnan(percentile(at::tensor({1.0F, std::numeric_limits<float>::quiet_NaN(), 2.0F}), 50)));
}

TEST(ScalePercentiles, MapsTheTwoPercentilesToTheTwoBounds) {
  const at::Tensor values = at::arange(101, at::kFloat);
  const at::Tensor result = scale_percentiles(volume_of(values), {10, 90, -1, 1, false}).voxels.flatten();
  EXPECT_TRUE(result.allclose((values - 10) / 80 * 2 - 1));
  EXPECT_GT(result.max().item<float>(), 1.2F);
  const at::Tensor clipped = scale_percentiles(volume_of(values), {10, 90, -1, 1, true}).voxels.flatten();
  EXPECT_TRUE(clipped.equal(result.clamp(-1, 1)));
}

TEST(ScalePercentiles, OnlyMovesAVolumeOfOneValue) {
  const at::Tensor result =
      scale_percentiles(volume_of(at::full({9}, 5.0F)), {0, 99.5, 2, 3, true}).voxels.flatten();
  EXPECT_TRUE(result.equal(at::full({9}, 2.0F)));
}

TEST(ScalePercentiles, LeavesTheSourceAloneAndTakesAnyStrides) {
  const at::Tensor values = at::rand({2, 3, 4, 5});
  const at::Tensor before = values.clone();
  const Volume plain = scale_percentiles({values, identity_affine()}, {0, 99.5, 0, 1, false});
  EXPECT_TRUE(values.equal(before));
  const at::Tensor turned = values.permute({0, 3, 1, 2}).contiguous().permute({0, 2, 3, 1});
  EXPECT_TRUE(
      scale_percentiles({turned, identity_affine()}, {0, 99.5, 0, 1, false}).voxels.equal(plain.voxels));
  const at::Tensor every_other = at::stack({values, values}, -1).select(-1, 1);
  EXPECT_TRUE(
      scale_percentiles({every_other, identity_affine()}, {0, 99.5, 0, 1, false}).voxels.equal(plain.voxels));
}

TEST(ScalePercentiles, TakesEachChannelByItself) {
  const at::Tensor one = at::arange(101, at::kFloat).view({1, 101, 1, 1}), other = one * 7 + 3;
  const PercentileScaling each{.lower = 10, .upper = 90, .channel_wise = true};
  const at::Tensor both = scale_percentiles({at::cat({one, other}), identity_affine()}, each).voxels;
  for (const auto& [channel, alone] : {std::pair{0, one}, {1, other}})
    EXPECT_TRUE(both[channel].equal(scale_percentiles({alone, identity_affine()}, {10, 90}).voxels[0]));
}

TEST(ScalePercentiles, CountsOnlyVoxelsThatAreNotZeroWhereItIsTold) {
  const at::Tensor brain = at::arange(1, 102, at::kFloat);
  const at::Tensor head = at::cat({at::zeros(500), brain});
  const PercentileScaling stripped{
      .lower = 10, .upper = 90, .b_min = -1, .b_max = 1, .clip = true, .nonzero = true};
  const at::Tensor scaled = scale_percentiles(volume_of(head), stripped).voxels.flatten();
  EXPECT_TRUE(scaled.slice(0, 500).equal(
      scale_percentiles(volume_of(brain), {10, 90, -1, 1, true}).voxels.flatten()));
  EXPECT_TRUE(scaled.slice(0, 0, 500).equal(at::full({500}, -1.0F)));
  const at::Tensor nothing = at::zeros({9});
  EXPECT_TRUE(scale_percentiles(volume_of(nothing), stripped).voxels.flatten().equal(nothing));
}

TEST(ScalePercentiles, RefusesVoxelsThatAreNoNumbers) {
  try {
    scale_percentiles(volume_of(at::tensor({1.0F, std::numeric_limits<float>::quiet_NaN()})),
                      {0, 99.5, 0, 1, false});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::data);
  }
}

}  // namespace
}  // namespace larmor
