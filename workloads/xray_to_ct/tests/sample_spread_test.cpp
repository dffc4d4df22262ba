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
  const auto bins = spread_bins(deviation, 2 * deviation, error, 2);
  ASSERT_EQ(bins.size(), 2U);
  EXPECT_NEAR(bins[0].deviation, 2 * std::sqrt(2.5), 1e-12);
  EXPECT_NEAR(bins[0].error, std::sqrt(10), 1e-12);
  EXPECT_NEAR(bins[1].error, std::sqrt(50), 1e-12);
}

// Of samples that are drawn from the posterior itself, by whichever half of them voxels are sorted.
TEST(SampleSpread, FindsAsMuchErrorAsDeviationWhereTheSpreadIsRight) {
  for (const double of_widths : {0.0, 0.3}) {
    for (const uint64_t seed : {7, 8, 9}) {
      at::manual_seed(seed);
      const at::Tensor width = (at::randn({100000}, at::kDouble) * of_widths).exp();
      // A skewed posterior: mean and deviation of a sample depend on each other.
      const auto drawn = [&] { return width * (at::randn({100000}, at::kDouble).square() - 1); };
      const at::Tensor truth = drawn();
      SpreadSamples samples;
      while (samples.count() < 8) samples.add(drawn());
      const at::Tensor error = (samples.measured().mean() - truth) * samples.error_scale();
      const auto bins = spread_bins(samples.sorting().deviation(), samples.measured().deviation(), error, 10);
      for (const auto& [spread, wrong] : bins) EXPECT_NEAR(wrong / spread, 1, 0.05) << of_widths;
    }
  }
}

TEST(SampleSpread, FindsMoreErrorThanDeviationWhereTheSpreadIsTooNarrow) {
  at::manual_seed(7);
  const at::Tensor truth = at::randn({40000}, at::kDouble);
  SpreadSamples samples;
  while (samples.count() < 8) samples.add(0.5 * at::randn({40000}, at::kDouble));
  const at::Tensor error = (samples.measured().mean() - truth) * samples.error_scale();
  // By hand: variances 1 + 0.25 / 4 of the error of the mean and 0.25 of a sample, at 4 of 5.
  const double expected = std::sqrt((1 + 0.25 / 4) * 0.8 / 0.25);
  for (const auto& [spread, wrong] :
       spread_bins(samples.sorting().deviation(), samples.measured().deviation(), error, 10))
    EXPECT_NEAR(wrong / spread, expected, 0.1);
}

}  // namespace
}  // namespace larmor::xray_to_ct
