#include "larmor/measure/peak_prediction.h"

#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

const MeasuredStep one_sample{.micro_batch = 1, .before = 1000, .backward_peak = 1500, .update_peak = 1200};

// A sample keeps 100 bytes and has three gradients of 10 on their way; a weight has three copies of 8.
const ActivationCount wide{
    .fixed = 0,
    .per_sample = 100,
    .rerun_per_sample = 0,
    .largest_block = 8,
    .blocks = {{.held = 60, .output = 5, .weight = 8}, {.held = 100, .output = 10, .weight = 8}}};
constexpr int64_t of_sample = 130, of_weight = 24;

MeasuredStep three_samples(int64_t taken) {
  return {.micro_batch = 3, .before = 1000, .backward_peak = 1000 + taken, .update_peak = 0};
}

TEST(PredictedPeak, OfTheMeasuredStepIsWhatWasMeasured) {
  EXPECT_EQ(predicted_peak(one_sample, wide, Precision::fp32, 1), 1500);
  EXPECT_EQ(predicted_peak(one_sample, ActivationCount{}, Precision::fp32, 1), 1500);
  for (const int64_t taken : {100, 400, 5000})
    EXPECT_EQ(predicted_peak(three_samples(taken), wide, Precision::fp32, 3), 1000 + taken);
}

TEST(PredictedPeak, GrowsByWhatMoreSamplesAreCountedToHold) {
  EXPECT_EQ(predicted_peak(one_sample, wide, Precision::fp32, 3), 1500 + 2 * of_sample);
}

TEST(PredictedPeak, TakesFromSeveralSamplesHowFarTheCountIsOff) {
  const int64_t taken = 3 * 143 + of_weight;  // a tenth more than was counted
  EXPECT_EQ(predicted_peak(three_samples(taken), wide, Precision::fp32, 6), 1000 + 6 * 143 + of_weight);
  EXPECT_EQ(predicted_peak(three_samples(taken), wide, Precision::fp32, 1), 1000 + 143 + of_weight);
}

// What cannot be samples' is taken for something that does not grow with them.
TEST(PredictedPeak, BelievesThatTheCountIsOffByThreeTenthsAtMost) {
  const auto predicted = predicted_peak(three_samples(5000), wide, Precision::fp32, 6);
  EXPECT_EQ(predicted, 1000 + 5000 + 3 * 169);
}

TEST(PredictedPeak, OfHalfFloatsGrowsByHalfAndOfDoublesByTwice) {
  EXPECT_EQ(predicted_peak(one_sample, wide, Precision::bf16, 3), 1500 + of_sample);
  EXPECT_EQ(predicted_peak(one_sample, wide, Precision::fp16, 3), 1500 + of_sample);
  EXPECT_EQ(predicted_peak(one_sample, wide, Precision::fp64, 3), 1500 + 4 * of_sample);
}

// A heavy block near the input decides for one sample (40 + 300), and the light one behind it for ten.
TEST(PredictedPeak, MovesFromHeavyWeightsToLargeMapsAsTheBatchGrows) {
  ActivationCount count = wide;
  count.blocks = {{.held = 40, .output = 0, .weight = 100}, {.held = 100, .output = 0, .weight = 0}};
  EXPECT_EQ(predicted_peak(one_sample, count, Precision::fp32, 2), 1500 + 40);
  EXPECT_EQ(predicted_peak(one_sample, count, Precision::fp32, 10), 1500 + (10 * 100 - 340));
}

TEST(PredictedPeak, IsProportionalWhereNothingWasCounted) {
  EXPECT_EQ(predicted_peak(one_sample, ActivationCount{}, Precision::fp32, 4), 1000 + 4 * 500);
}

TEST(PredictedPeak, IsNeverLessThanWhatMovingTheWeightsTakes) {
  MeasuredStep heavy = one_sample;
  heavy.update_peak = 9000;
  EXPECT_EQ(predicted_peak(heavy, wide, Precision::fp32, 2), 9000);
  EXPECT_EQ(heavy.peak(), 9000);
}

}  // namespace
}  // namespace larmor::testing
