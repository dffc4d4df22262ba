#include "larmor/train/peak_prediction.h"

#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

const MeasuredStep one_sample{.micro_batch = 1, .before = 1000, .backward_peak = 1500, .update_peak = 1200};

// Forward keeps 100 bytes a sample; each sample's gradients take four outputs of 10 at a time.
const ActivationCount wide{
    .fixed = 0,
    .per_sample = 100,
    .rerun_per_sample = 0,
    .largest_block = 8,
    .blocks = {{.held = 60, .output = 5, .weight = 8}, {.held = 100, .output = 10, .weight = 8}}};

TEST(PredictedPeak, OfTheMeasuredStepIsWhatWasMeasured) {
  EXPECT_EQ(predicted_peak(one_sample, wide, Precision::fp32, 1), 1500);
  EXPECT_EQ(predicted_peak(one_sample, ActivationCount{}, Precision::fp32, 1), 1500);
}

TEST(PredictedPeak, GrowsByWhatMoreSamplesAreCountedToHold) {
  EXPECT_EQ(predicted_peak(one_sample, wide, Precision::fp32, 3), 1500 + 2 * (100 + 4 * 10));
  const MeasuredStep three{.micro_batch = 3, .before = 1000, .backward_peak = 1780, .update_peak = 0};
  EXPECT_EQ(predicted_peak(three, wide, Precision::fp32, 1), 1500);
}

TEST(PredictedPeak, OfHalfFloatsGrowsByHalfAndOfDoublesByTwice) {
  EXPECT_EQ(predicted_peak(one_sample, wide, Precision::bf16, 3), 1500 + (100 + 4 * 10));
  EXPECT_EQ(predicted_peak(one_sample, wide, Precision::fp16, 3), 1500 + (100 + 4 * 10));
  EXPECT_EQ(predicted_peak(one_sample, wide, Precision::fp64, 3), 1500 + 4 * (100 + 4 * 10));
}

// A heavy block near the input decides for one sample (40 + 500), and the light one behind it for ten.
TEST(PredictedPeak, MovesFromHeavyWeightsToLargeMapsAsTheBatchGrows) {
  ActivationCount count = wide;
  count.blocks = {{.held = 40, .output = 0, .weight = 100}, {.held = 100, .output = 0, .weight = 0}};
  EXPECT_EQ(predicted_peak(one_sample, count, Precision::fp32, 2), 1500 + 40);
  EXPECT_EQ(predicted_peak(one_sample, count, Precision::fp32, 10), 1500 + (10 * 100 - 540));
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
