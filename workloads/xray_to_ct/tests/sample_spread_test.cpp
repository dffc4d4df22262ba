#include "workloads/xray_to_ct/stage/sample_spread.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace larmor::xray_to_ct {
namespace {

TEST(SampleSpread, CorrelatesRanksAndNotValues) {
  const at::Tensor x = at::tensor({3.0, 1.0, 2.0, 4.0});
  EXPECT_NEAR(rank_correlation(x, x.exp()), 1, 1e-12);
  EXPECT_NEAR(rank_correlation(x, -x), -1, 1e-12);
  // By hand: differences of ranks 2, 1, 1, 0; 1 - 6 * 6 / (4 * 15).
  EXPECT_NEAR(rank_correlation(x, at::tensor({10.0, 20.0, 30.0, 40.0})), 0.4, 1e-12);
}

TEST(SampleSpread, GivesEqualValuesTheMeanOfTheirRanks) {
  // Ranks 0.5, 0.5, 2, 3 beside 0, 1, 2, 3; by hand 4.5 / sqrt(4.5 * 5).
  EXPECT_NEAR(rank_correlation(at::tensor({1.0, 1.0, 2.0, 5.0}), at::tensor({0.0, 1.0, 2.0, 3.0})),
              4.5 / std::sqrt(22.5), 1e-12);
  EXPECT_TRUE(std::isnan(rank_correlation(at::ones({3}), at::tensor({0.0, 1.0, 2.0}))));
}

TEST(SampleSpread, FillsBinsByDeviationWhateverTheOrderOfVoxels) {
  const at::Tensor deviation = at::tensor({4.0, 1.0, 3.0, 2.0}), error = at::tensor({8.0, -2.0, 6.0, 4.0});
  const auto bins = spread_bins(deviation, error, 2);
  ASSERT_EQ(bins.size(), 2U);
  EXPECT_NEAR(bins[0].deviation, std::sqrt(2.5), 1e-12);
  EXPECT_NEAR(bins[0].error, std::sqrt(10), 1e-12);
  EXPECT_NEAR(bins[1].error, std::sqrt(50), 1e-12);
}

TEST(SampleSpread, FindsAsMuchErrorAsDeviationWhereTheSpreadIsRight) {
  at::manual_seed(7);
  const at::Tensor deviation = at::rand({40000}, at::kDouble) + 0.1;
  const at::Tensor error = deviation * at::randn({40000}, at::kDouble);
  for (const auto& [spread, wrong] : spread_bins(deviation, error, 10)) EXPECT_NEAR(wrong / spread, 1, 0.06);
  EXPECT_GT(rank_correlation(deviation, error.abs()), 0.4);
}

}  // namespace
}  // namespace larmor::xray_to_ct
