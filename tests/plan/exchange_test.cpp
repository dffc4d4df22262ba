// What travels between ranks besides whole gradients, and what cannot go together.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"
#include "tests/plan/support/request.h"

namespace larmor {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::machine;

class Exchange : public testing::Request {};

TEST_F(Exchange, CompressesGradientsOfDdp) {
  config.parallel.compression = "bf16";
  const Plan plan = plan_on(four_cards());
  EXPECT_EQ(plan.strategy, Strategy::ddp);
  EXPECT_EQ(plan.compression, Compression::bf16);
  EXPECT_THAT(plan.reasons, Contains("Gradients travel as bf16, as asked: fewer bytes, and fewer digits."));
  EXPECT_THAT(plan.reasons, Contains("Strategy ddp: parallel.compression is for whole gradients."));
  config.plan.profile = "guide";
  demand.guide = testing::question_answering_guide();
  EXPECT_EQ(plan_on(four_cards()).strategy, Strategy::ddp) << "not the guide's zero2, which has none";
  config.parallel.ranks = "1";
  const Plan alone = plan_on(four_cards());
  EXPECT_THAT(alone.reasons,
              Contains("parallel.compression bf16 changes nothing: 1 rank sends no gradients."));
  EXPECT_EQ(alone.compression, Compression::none) << "and they keep their digits";
}

TEST_F(Exchange, RefusesCompressionOfGradientsThatAreCut) {
  config.parallel.compression = "fp16";
  for (const char* const strategy : {"zero1", "zero2", "zero3"}) {
    config.parallel.strategy = strategy;
    EXPECT_EQ(
        refusal_on(four_cards()),
        text("2: parallel.compression fp16 is for ddp, and parallel.strategy is ", strategy,
             " | parallel.strategy=ddp; or parallel.compression=none, and train.precision=bf16 or fp16, "
             "whose gradients are half as wide"));
  }
}

TEST_F(Exchange, OffersToSendUncompressedWhereOnlyThatFits) {
  demand.parameters = 1'000'000'000;
  demand.model_bytes = 4 * demand.parameters;
  demand.optimizer_bytes = 24 * demand.parameters;
  config.parallel.compression = "fp16";
  EXPECT_THAT(refusal_on(four_cards()), HasSubstr("parallel.strategy=zero1 parallel.compression=none ("));
}

TEST_F(Exchange, KeepsStatesOnTheHostUnderAStrategyThatCutsThem) {
  config.parallel.offload = "optimizer";
  const Plan several = plan_on(four_cards());
  EXPECT_EQ(several.strategy, Strategy::zero1);
  EXPECT_TRUE(several.offload_optimizer);
  EXPECT_THAT(several.reasons, Contains(HasSubstr("stay on the host, as asked")));
  config.parallel.ranks = "1";
  EXPECT_EQ(plan_on(four_cards()).strategy, Strategy::zero1);
  config.parallel.strategy = "ddp";
  EXPECT_EQ(refusal_on(four_cards()),
            "2: parallel.offload optimizer needs a strategy that cuts the optimizer's states into parts, and "
            "parallel.strategy is ddp | parallel.strategy=zero1, zero2 or zero3, for one rank too; or "
            "parallel.offload=none");
}

TEST_F(Exchange, OffloadsNothingFromACpu) {
  config.parallel.offload = "optimizer";
  const Plan plan = plan_on(machine(4, 16));
  EXPECT_EQ(plan.memory.offloaded, 0);
  EXPECT_THAT(plan.reasons, Contains(HasSubstr("parallel.offload changes nothing")));
}

TEST_F(Exchange, SharesStatisticsOfBatchNormUnlessAskedOtherwise) {
  EXPECT_FALSE(plan_on(four_cards()).sync_batch_norm) << "no batch norm there";
  config.parallel.sync_batchnorm = true;
  EXPECT_THAT(plan_on(four_cards()).reasons,
              Contains("parallel.sync_batchnorm changes nothing: this model has no batch norm."));
  demand.batch_norm = true;
  EXPECT_TRUE(plan_on(four_cards()).sync_batch_norm);
  config.parallel.sync_batchnorm.reset();
  EXPECT_TRUE(plan_on(four_cards()).sync_batch_norm);
  EXPECT_FALSE(plan_on(machine(4, 16)).sync_batch_norm) << "one rank sees the whole batch";
  config.parallel.sync_batchnorm = false;
  EXPECT_FALSE(plan_on(four_cards()).sync_batch_norm);
  EXPECT_THAT(plan_on(four_cards()).reasons, Contains(HasSubstr("each rank's own statistics, as asked")));
}

TEST_F(Exchange, RefusesWordsThatNobodyKnows) {
  config.parallel.compression = "int8";
  EXPECT_EQ(refusal_on(four_cards()), "2: parallel.compression is \"int8\" | say none, fp16 or bf16");
  config.parallel.compression = "none";
  config.parallel.offload = "weights";
  EXPECT_EQ(refusal_on(four_cards()), "2: parallel.offload is \"weights\" | say auto, none or optimizer");
}

}  // namespace
}  // namespace larmor
