// Whether GPUs launch micro-batches as graphs.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"
#include "tests/plan/support/request.h"

namespace larmor {
namespace {

using ::testing::Contains;
using testing::gibibyte;
using ::testing::HasSubstr;
using testing::machine;
using ::testing::Not;
using testing::with_gpus;

class Graphs : public testing::Request {
 protected:
  static Hardware cards(int count) {
    return with_gpus(machine(8, 64), count, "NVIDIA L4", 24 * gibibyte, 8, 9);
  }
};

TEST_F(Graphs, AreThereForWhoAsksForThemOnGpusAlone) {
  EXPECT_FALSE(plan_on(cards(1)).graphs);
  EXPECT_THAT(plan_on(cards(1)).reasons, Not(Contains(HasSubstr("raphs"))));
  config.train.graphs = "auto";
  EXPECT_TRUE(plan_on(cards(1)).graphs);
  EXPECT_TRUE(plan_on(cards(2)).graphs);
  const Plan on_cpu = plan_on(machine(4, 16));
  EXPECT_FALSE(on_cpu.graphs);
  EXPECT_THAT(on_cpu.reasons, Contains("No graphs, which were asked for: only GPUs launch graphs."));
}

TEST_F(Graphs, AreNotThereWhereRanksMeetWithinAPass) {
  config.train.graphs = "auto";
  config.parallel.strategy = "zero2";
  EXPECT_TRUE(plan_on(cards(2)).graphs);
  config.parallel.strategy = "zero3";
  EXPECT_THAT(plan_on(cards(2)).reasons,
              Contains("No graphs, which were asked for: zero3 gathers weights while a pass runs."));
  config.parallel.strategy = "dp";
  EXPECT_FALSE(plan_on(cards(2)).graphs);
  config.parallel.strategy = "auto";
  config.parallel.sync_batchnorm = true;
  demand.batch_norm = true;
  EXPECT_FALSE(plan_on(cards(2)).graphs);
}

TEST_F(Graphs, TakeMemoryThatThePlanCounts) {
  config.train.micro_batch = 2;
  demand.validation_window_bytes = demand.validation_case_bytes = int64_t{1} << 20;
  const MemoryEstimate without = plan_on(cards(1)).memory;
  config.train.graphs = "auto";
  const MemoryEstimate with = plan_on(cards(1)).memory;
  EXPECT_EQ(without.graphs, 0);
  const int64_t gradients = demand.parameters * 4, batch = 2 * demand.sample_bytes;
  EXPECT_EQ(with.graphs, gradients + batch + std::min(with.activations, with.validation));
  EXPECT_EQ(with.total(), without.total() + with.graphs);
}

TEST_F(Graphs, GiveWayWhereThereIsNoRoomForThem) {
  config.train.graphs = "auto";
  config.train.micro_batch = 1;
  const MemoryEstimate with = plan_on(cards(1)).memory;
  config.train.graphs = "none";
  const MemoryEstimate without = plan_on(cards(1)).memory;
  ASSERT_GT(with.total(), without.total());
  config.train.graphs = "auto";
  // The least memory of a card that is enough for one of the two.
  Plan plan;
  for (uint64_t bytes = gibibyte; bytes < 24 * gibibyte; bytes += gibibyte / 64) {
    const Hardware small = with_gpus(machine(8, 64), 1, "NVIDIA L4", bytes, 8, 9);
    try {
      plan = plan_on(small);
      break;
    } catch (const Error&) {
      continue;
    }
  }
  EXPECT_FALSE(plan.graphs);
  EXPECT_THAT(plan.reasons, Contains(HasSubstr("No graphs after all: with them a rank would need")));
}

TEST_F(Graphs, AreKeptByThePlansFile) {
  config.train.graphs = "auto";
  const Plan plan = plan_on(cards(1));
  const Plan read = plan_from_json(to_json(plan));
  EXPECT_TRUE(read.graphs);
  EXPECT_EQ(read.memory.graphs, plan.memory.graphs);
  EXPECT_THAT(explain(plan, cards(1)), HasSubstr("graphs"));
}

}  // namespace
}  // namespace larmor
