// A plan for several hosts: every one gets the same share, and the plan says so.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"
#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"
#include "tests/plan/support/request.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::machine;
using ::testing::StartsWith;

class Hosts : public testing::Request {
 protected:
  static Hardware of(int hosts, Hardware hardware) {
    hardware.hosts = hosts;
    return hardware;
  }
  static std::vector<int> devices(const Plan& plan) {
    std::vector<int> all;
    for (const RankSeat& seat : plan.ranks) all.push_back(seat.device);
    return all;
  }
};

TEST_F(Hosts, RepeatTheSamePlaces) {
  const Plan plan = plan_on(of(2, four_cards()));
  EXPECT_EQ(plan.hosts, 2);
  EXPECT_EQ(plan.world_size(), 8);
  EXPECT_EQ(plan.local_size(), 4);
  EXPECT_THAT(devices(plan), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  for (size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(plan.ranks[rank].cores.size(), 4U);
    EXPECT_EQ(plan.ranks[rank].cores, plan.ranks[rank + 4].cores);
  }
  EXPECT_THAT(plan.reasons, Contains("8 ranks, 4 on each of 2 hosts, one a GPU."));
  const Plan alone = plan_on(four_cards());
  EXPECT_EQ(plan.threads_per_rank, alone.threads_per_rank);
  EXPECT_EQ(plan.loader_threads, alone.loader_threads);
  EXPECT_EQ(plan.memory.available, alone.memory.available);
}

TEST_F(Hosts, LeaveGpusIdleForABatchThatFewerRanksShare) {
  config.train.global_batch = 6;
  const Plan plan = plan_on(of(2, four_cards()));
  EXPECT_EQ(plan.world_size(), 6);
  EXPECT_THAT(devices(plan), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(plan.idle_devices, ElementsAre(3));
  EXPECT_THAT(plan.reasons,
              Contains("6 ranks, 3 on each of 2 hosts, one a GPU; 2 of 8 GPUs stay idle: 6 is the largest "
                       "count up to 8 that train.global_batch 6 allows."));
}

TEST_F(Hosts, MayHaveUnequalShares) {
  config.train.global_batch = 7;
  const Plan plan = plan_on(of(2, four_cards()));
  EXPECT_THAT(devices(plan), ElementsAre(0, 1, 2, 3, 0, 1, 2));
  EXPECT_THAT(plan.reasons,
              Contains("7 ranks, at most 4 on each of 2 hosts, one a GPU; 1 of 8 GPUs stays idle: 7 is the "
                       "largest count up to 8 that train.global_batch 7 allows."));
}

TEST_F(Hosts, AreNoMoreThanTheRanksNeed) {
  config.train.global_batch = 4;
  const Plan plan = plan_on(of(3, four_cards()));
  EXPECT_EQ(plan.world_size(), 4);
  EXPECT_EQ(plan.local_size(), 2);
  EXPECT_EQ(plan.hosts, 2) << "two on each of two";
  config.parallel.ranks = "1";
  EXPECT_EQ(plan_on(of(3, four_cards())).hosts, 1);
}

TEST_F(Hosts, UseTheGpusThatAreNamedOnEach) {
  config.parallel.ranks = "1,3";
  const Plan plan = plan_on(of(3, four_cards()));
  EXPECT_THAT(devices(plan), ElementsAre(1, 3, 1, 3, 1, 3));
  EXPECT_THAT(plan.reasons,
              Contains("6 ranks, 2 on each of 3 hosts, one a GPU; 6 of 12 GPUs stay idle, as asked."));
}

TEST_F(Hosts, HaveNoMoreGpusThanTheyHave) {
  config.parallel.ranks = "9";
  EXPECT_EQ(refusal_on(of(2, four_cards())),
            "2: parallel.ranks asks for 9 ranks of one GPU each, but this job sees 4 GPUs on each of 2 hosts "
            "| parallel.ranks=8 at most, or parallel.device=cpu");
}

TEST_F(Hosts, ListTheWorldSizesOfThemAll) {
  config.parallel.ranks = "5";
  config.train.global_batch = 16;
  EXPECT_THAT(refusal_on(of(2, four_cards())), HasSubstr("allowed world sizes: 8, 4, 2, 1"));
}

TEST_F(Hosts, GetOneRankEachOnTheCpu) {
  const Plan plan = plan_on(of(2, machine(4, 16)));
  EXPECT_EQ(plan.world_size(), 2);
  EXPECT_EQ(plan.hosts, 2);
  EXPECT_EQ(plan.local_size(), 1);
  EXPECT_EQ(plan.threads_per_rank, plan_on(machine(4, 16)).threads_per_rank);
  EXPECT_EQ(plan.ranks[0].cores, plan.ranks[1].cores);
  EXPECT_THAT(
      plan.reasons,
      Contains("2 ranks, 1 on each of 2 hosts: on a CPU the cores are for the threads of one process."));
}

TEST_F(Hosts, StayIdleOnTheCpuWhereTheBatchAllowsNoMoreRanks) {
  config.train.global_batch = 2;
  const Plan plan = plan_on(of(3, machine(4, 16)));
  EXPECT_EQ(plan.world_size(), 2);
  EXPECT_EQ(plan.hosts, 2);
  EXPECT_THAT(plan.reasons, Contains("1 host stays idle: 2 is the largest count up to 3 that "
                                     "train.global_batch 2 allows."));
}

TEST_F(Hosts, ShareTheirOwnMemoryAndCores) {
  config.parallel.ranks = "4";
  const Plan plan = plan_on(of(2, machine(4, 16)));
  EXPECT_EQ(plan.local_size(), 2);
  EXPECT_EQ(plan.memory.available, static_cast<int64_t>(8 * testing::gibibyte - 200 * testing::mebibyte));
  EXPECT_EQ(plan.threads_per_rank, 2);
  EXPECT_THAT(plan.ranks[0].cores, ElementsAre(0, 1));
  EXPECT_THAT(plan.ranks[1].cores, ElementsAre(2, 3));
  EXPECT_EQ(plan.ranks[2].cores, plan.ranks[0].cores);
  EXPECT_THAT(plan.reasons, Contains("4 ranks on 4 cores on each of 2 hosts, as asked."));
}

TEST_F(Hosts, MayShareCoresToo) {
  config.parallel.ranks = "8";
  EXPECT_THAT(
      plan_on(of(2, machine(2, 16))).reasons,
      Contains("8 ranks on 2 cores on each of 2 hosts, as asked: they share cores, so each is slower."));
  config.parallel.ranks = "17";
  EXPECT_THAT(refusal_on(of(2, machine(2, 16))),
              StartsWith("2: parallel.ranks asks for 17 CPU ranks, but this job may use 2 cores on each of 2 "
                         "hosts | parallel.ranks=4 is one a core"));
}

TEST_F(Hosts, AreInThePlansFile) {
  for (const Hardware& hardware : {of(2, four_cards()), of(3, machine(4, 16)), four_cards()}) {
    const Plan plan = plan_on(hardware);
    const Plan read = plan_from_json(Json::parse(to_json(plan).dump()));
    EXPECT_EQ(to_json(read), to_json(plan));
    EXPECT_EQ(read.hosts, plan.hosts);
    EXPECT_EQ(read.local_size(), plan.local_size());
    EXPECT_EQ(to_json(plan).contains("hosts"), plan.hosts > 1);
  }
}

TEST_F(Hosts, AreAtLeastOneAndAtMostAsManyAsRanks) {
  Json json = to_json(plan_on(of(2, four_cards())));
  for (const int hosts : {0, -1, 9}) {
    json["hosts"] = hosts;
    EXPECT_THROW(plan_from_json(json), Error) << hosts;
  }
}

TEST_F(Hosts, AreInWhatAPersonReads) {
  const Hardware two = of(2, four_cards());
  EXPECT_THAT(explain(plan_on(two), two),
              AllOf(HasSubstr("8 on 2 hosts, 4 on each"), HasSubstr("cuda, 4 of 4 GPUs on each host")));
  config.train.global_batch = 7;
  EXPECT_THAT(explain(plan_on(two), two), HasSubstr("7 on 2 hosts, at most 4 on each"));
}

}  // namespace
}  // namespace larmor
