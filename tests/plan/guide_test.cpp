#include "larmor/plan/guide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/plan/support/request.h"

namespace larmor {
namespace {

using ::testing::Contains;
using testing::gibibyte;
using ::testing::HasSubstr;
using testing::mebibyte;
using testing::question_answering_guide;

TEST(GuideTable, ChangesItsMicroBatchWhereItsRowsSay) {
  const auto micro_batch = [](uint64_t mebibytes) {
    return guide_row(question_answering_guide(), mebibytes * mebibyte, 4).micro_batch;
  };
  EXPECT_EQ(micro_batch(20000), 16);
  EXPECT_EQ(micro_batch(19999), 12);
  EXPECT_EQ(micro_batch(14000), 12);
  EXPECT_EQ(micro_batch(13999), 8);
  EXPECT_EQ(micro_batch(10000), 8);
  EXPECT_EQ(micro_batch(9999), 4);
  EXPECT_EQ(micro_batch(6000), 4);
  EXPECT_EQ(micro_batch(5999), 2);
}

TEST(GuideTable, KeepsAStepNearItsExamplesWithinItsAccumulations) {
  const auto accumulation = [](uint64_t mebibytes, int64_t ranks) {
    return guide_row(question_answering_guide(), mebibytes * mebibyte, ranks).accumulation;
  };
  EXPECT_EQ(accumulation(24000, 1), 16);
  EXPECT_EQ(accumulation(24000, 8), 2);
  EXPECT_EQ(accumulation(24000, 64), 1);
  EXPECT_EQ(accumulation(4000, 1), 32);
}

TEST(GuideTable, HoldsAsItIsWhereNoNumberOfExamplesIsAimedAt) {
  const Guide guide{.rows = {{70 * gibibyte, 4, 1}, {40 * gibibyte, 2, 4}}};
  EXPECT_EQ(guide_row(guide, 80 * gibibyte, 4).accumulation, 1);
  EXPECT_EQ(guide_row(guide, 40 * gibibyte, 8).accumulation, 4);
  EXPECT_EQ(guide_row(guide, 24 * gibibyte, 1).micro_batch, 2) << "below the last row, the last row";
}

TEST(GuideTable, SetsThreadsAndTheEnvironmentOfRanksOnGpus) {
  Guide guide = question_answering_guide();
  guide.cores_a_thread = 4;
  guide.environment = {{"A", "1"}};
  guide.environment_of_several = {{"B", "2"}};
  Plan plan;
  plan.ranks.resize(4);
  follow_guide_on_gpus(guide, 48, plan);
  EXPECT_EQ(plan.threads_per_rank, 3);
  EXPECT_EQ(plan.environment, (std::map<std::string, std::string>{{"A", "1"}, {"B", "2"}}));
  plan.global_batch = 4;
  EXPECT_EQ(plan_from_json(to_json(plan)).environment, plan.environment);
  Plan alone;
  alone.ranks.resize(1);
  follow_guide_on_gpus(guide, 2, alone);
  EXPECT_EQ(alone.threads_per_rank, 1);
  EXPECT_EQ(alone.environment, guide.environment);
}

TEST(GuideTable, LooksFurtherAheadWithMoreMemory) {
  EXPECT_EQ(guide_prefetch(32 * gibibyte), 2);
  EXPECT_EQ(guide_prefetch(33 * gibibyte), 3);
  EXPECT_EQ(guide_prefetch(65 * gibibyte), 4);
}

class StageWithoutATable : public testing::Request {};

TEST_F(StageWithoutATable, IsPlannedAsEverAndSaysSo) {
  const auto usual = plan_on(four_cards());
  config.plan.profile = "guide";
  const auto asked = plan_on(four_cards());
  EXPECT_EQ(testing::summary(asked), testing::summary(usual));
  EXPECT_THAT(asked.reasons, Contains(HasSubstr("plan.profile=guide changes nothing")));
}

class StageWithATable : public testing::Request {};

TEST_F(StageWithATable, IsPlannedByItsOwn) {
  config.plan.profile = "guide";
  demand.guide.rows = {{20 * gibibyte, 3, 2}, {0, 1, 8}};
  const auto plan = plan_on(four_cards());
  EXPECT_EQ(plan.micro_batch, 3);
  EXPECT_EQ(plan.accumulation, 2);
  EXPECT_EQ(plan.strategy, Strategy::ddp) << "this guide names none";
}

}  // namespace
}  // namespace larmor
