// micro-batch × accumulation × ranks = global batch.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/plan/kinds.h"

#include "tests/plan/support/machines.h"
#include "tests/plan/support/request.h"

namespace larmor {
namespace {

class Batch : public testing::Request {};

TEST_F(Batch, RefuseSizesWhoseProductIsAnother) {
  config.train.global_batch = 16;
  config.train.micro_batch = 3;
  config.train.accumulation = 2;
  config.parallel.ranks = "4";
  EXPECT_EQ(refusal_on(four_cards()),
            "2: train.micro_batch 3 × train.accumulation 2 × 4 ranks = 24, but train.global_batch is 16 | "
            "leave one of the three at auto, or say train.global_batch=24");
}

TEST_F(Batch, RefuseAMicroBatchThatDoesNotDivide) {
  config.train.global_batch = 16;
  config.train.micro_batch = 3;
  config.parallel.ranks = "4";
  EXPECT_EQ(refusal_on(four_cards()),
            "2: train.micro_batch 3 × 4 ranks = 12, but train.global_batch is 16, which is no multiple of it "
            "| leave train.micro_batch at auto, or say train.global_batch=12");
}

TEST_F(Batch, RefuseSizesThatNoNumberOfCardsAllows) {
  config.train.global_batch = 16;
  config.train.micro_batch = 3;
  EXPECT_EQ(refusal_on(four_cards()),
            "2: train.micro_batch 3 × 1 rank = 3, but train.global_batch is 16, which is no multiple of it | "
            "leave train.micro_batch at auto, or say train.global_batch=15");
}

TEST_F(Batch, RefuseAccumulationUnderBatchNorm) {
  demand.batch_norm = true;
  config.train.accumulation = 4;
  EXPECT_EQ(
      refusal_on(four_cards()),
      "2: train.accumulation is 4, but this model's batch norm takes its statistics from one micro-batch: "
      "accumulation would change the result | train.accumulation=1, and train.micro_batch for the size");
}

TEST_F(Batch, RefuseABatchLargerThanTheTrainingSplit) {
  demand.training_examples = 10;
  config.train.global_batch = 16;
  config.parallel.ranks = "4";
  EXPECT_EQ(refusal_on(four_cards()),
            "2: train.global_batch 16 = micro-batch 2 × accumulation 2 × 4 ranks is more than the 10 "
            "examples of the training split | train.global_batch=8 at most, or more data");
}

TEST_F(Batch, RefuseMoreRanksThanExamples) {
  demand.training_examples = 3;
  config.parallel.ranks = "4";
  EXPECT_EQ(refusal_on(four_cards()),
            "2: the global batch 4 = micro-batch 1 × accumulation 1 × 4 ranks is more than the 3 examples of "
            "the training split | parallel.ranks=3 at most, or more data");
}

TEST_F(Batch, RefuseAStepOfFewerExamplesThanTheLossCompares) {
  demand.fewest_in_step = 2;
  config.train.global_batch = 1;
  config.parallel.ranks = "1";
  EXPECT_EQ(
      refusal_on(four_cards()),
      "2: the global batch 1 = micro-batch 1 × accumulation 1 × 1 rank is less than the 2 examples that "
      "the loss compares: a step would learn nothing | train.global_batch=2 or more");
  config.train.global_batch = 2;
  EXPECT_EQ(refusal_on(four_cards()), "accepted");
}

TEST_F(Batch, RefuseSizesOutOfRange) {
  config.train.global_batch = 16;
  for (const int64_t size : {int64_t{0}, int64_t{-4}, int64_t{1} << 62}) {
    config.train.micro_batch = size;
    EXPECT_EQ(refusal_on(four_cards()),
              text("2: train.micro_batch is ", size, " | say auto, or 1 to 1000000"));
  }
  config.train.micro_batch.reset();
  config.train.global_batch = 0;
  EXPECT_EQ(refusal_on(four_cards()), "2: train.global_batch is 0 | say auto, or 1 to 1000000");
  config.train.global_batch.reset();
  config.data.workers = -1;
  EXPECT_EQ(refusal_on(four_cards()), "2: data.workers is -1 | say auto, or 0 to 1024");
}

}  // namespace
}  // namespace larmor
