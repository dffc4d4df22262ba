// Which device, and how many ranks on it.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"
#include "tests/plan/support/request.h"

namespace larmor {
namespace {

using testing::machine;

class Ranks : public testing::Request {};

TEST_F(Ranks, RefuseCudaWithoutAGpu) {
  config.parallel.device = "cuda";
  EXPECT_EQ(refusal_on(machine(4, 16)),
            "2: parallel.device is cuda, but this job sees no GPU | `larmor doctor` shows what was looked "
            "for; parallel.device=cpu trains without");
}

TEST_F(Ranks, RefuseFarMoreCpuRanksThanCores) {
  config.parallel.ranks = "9";
  Hardware hardware = machine(64, 64);
  hardware.cpu_quota = 2;
  hardware.notes = {"cgroup v2: 2.0 of 64 cores"};
  EXPECT_EQ(refusal_on(hardware),
            "2: parallel.ranks asks for 9 CPU ranks, but this job may use 2 cores (cgroup v2: 2.0 of 64 "
            "cores) | parallel.ranks=2 is one a core; `larmor doctor` shows what limits the cores");
}

TEST_F(Ranks, MayShareCoresWhenAskedTo) {
  config.parallel.ranks = "4";
  const Plan plan = make_plan(machine(2, 16), demand, config);
  EXPECT_EQ(plan.world_size(), 4);
  EXPECT_EQ(plan.threads_per_rank, 1);
  EXPECT_NE(std::find(plan.reasons.begin(), plan.reasons.end(),
                      "4 ranks on 2 cores, as asked: they share cores, so each is slower."),
            plan.reasons.end());
}

TEST_F(Ranks, RefuseMoreRanksThanGpus) {
  config.parallel.ranks = "8";
  EXPECT_EQ(refusal_on(four_cards()),
            "2: parallel.ranks asks for 8 ranks of one GPU each, but this job sees 4 GPUs | parallel.ranks=4 "
            "at most, or parallel.device=cpu");
}

TEST_F(Ranks, RefuseAGpuThatIsNotThere) {
  config.parallel.ranks = "1,5";
  EXPECT_EQ(
      refusal_on(four_cards()),
      "2: parallel.ranks names GPU 5, but this job sees GPUs 0, 1, 2 and 3 | `larmor doctor` lists them");
}

TEST_F(Ranks, RefuseWordsThatAreNoRanks) {
  for (const char* word : {"", "0", "-1", "two", "1.5", "2x", "[]", ",", "0,,1", "0,a", "99999999999"}) {
    config.parallel.ranks = word;
    EXPECT_TRUE(refusal_on(four_cards()).starts_with(text("2: parallel.ranks is \"", word, "\" | ")))
        << refusal_on(four_cards());
  }
  config.parallel.ranks = "1,1";
  EXPECT_EQ(refusal_on(four_cards()), "2: parallel.ranks names GPU 1 twice | one rank a GPU");
}

TEST_F(Ranks, RefuseAListOfGpusOnTheCpu) {
  config.parallel.ranks = "0,1";
  EXPECT_EQ(refusal_on(machine(4, 16)),
            "2: parallel.ranks is a list of GPUs, \"0,1\", but the device is the CPU | give a count: "
            "parallel.ranks=2");
}

TEST_F(Ranks, RefuseABatchThatTheRanksCannotShare) {
  config.parallel.ranks = "3";
  config.train.global_batch = 16;
  EXPECT_EQ(refusal_on(four_cards()),
            "2: train.global_batch 16 cannot be shared evenly by 3 ranks: 16 / 3 leaves 1 | allowed world "
            "sizes: 4, 2, 1 (parallel.ranks), or train.global_batch=15 or 18");
}

TEST_F(Ranks, RefuseWordsThatNobodyKnows) {
  config.parallel.device = "tpu";
  EXPECT_EQ(refusal_on(machine(4, 16)),
            "2: parallel.device is \"tpu\" | did you mean cpu? say auto, cpu or cuda");
  config.parallel.device = "cuda:1";
  EXPECT_EQ(refusal_on(machine(4, 16)),
            "2: parallel.device is \"cuda:1\" | say cuda, and which GPU by a list of one, with the comma: "
            "parallel.ranks=1,");
}

TEST_F(Ranks, LeaveAllCardsIdleOnTheCpu) {
  config.parallel.device = "cpu";
  EXPECT_THAT(plan_on(four_cards()).idle_devices, ::testing::ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace larmor
