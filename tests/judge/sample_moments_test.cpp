#include "larmor/judge/sample_moments.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

TEST(SampleMoments, AreThoseOfFourNumbersByHand) {
  SampleMoments moments;
  for (const double value : {2.0, 4.0, 4.0, 10.0}) moments.add(at::full({1}, value, at::kFloat));
  EXPECT_EQ(moments.count(), 4);
  EXPECT_DOUBLE_EQ(moments.mean().item<double>(), 5);
  EXPECT_DOUBLE_EQ(moments.deviation().item<double>(), std::sqrt(36.0 / 3));
}

TEST(SampleMoments, AreThoseOfTheStackVoxelByVoxel) {
  const at::Tensor all = at::rand({8, 1, 3, 4, 5});
  SampleMoments moments;
  for (int64_t i = 0; i < all.size(0); ++i) moments.add(all[i]);
  EXPECT_TRUE(at::allclose(moments.mean(), all.to(at::kDouble).mean(0), 1e-12, 1e-12));
  EXPECT_TRUE(at::allclose(moments.deviation(), all.to(at::kDouble).std(0), 1e-12, 1e-12));
}

TEST(SampleMoments, KeepsASmallSpreadOverALargeMean) {
  SampleMoments moments;
  const at::Tensor start = at::full({2}, 1e7, at::kDouble);
  for (const double step : {-1e-3, 0.0, 1e-3}) moments.add(start + step);
  EXPECT_NEAR(moments.deviation()[0].item<double>(), 1e-3, 1e-8);
}

TEST(SampleMoments, LeaveTheFirstSampleAsItWas) {
  const at::Tensor first = at::ones({2}, at::kDouble);
  SampleMoments moments;
  moments.add(first);
  moments.add(at::zeros({2}, at::kDouble));
  EXPECT_TRUE(first.equal(at::ones({2}, at::kDouble)));
}

}  // namespace
}  // namespace larmor::testing
