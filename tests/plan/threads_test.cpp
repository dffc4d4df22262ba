// Which rank gets which cores.
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/hardware/hardware.h"
#include "larmor/plan/plan.h"

#include "tests/plan/support/machines.h"

namespace larmor {
namespace {

using testing::autoencoder;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::gibibyte;
using ::testing::IsEmpty;
using testing::machine;
using testing::two_node_machine;
using testing::with_gpus;

Plan plan_for(const Hardware& hardware, const char* ranks = "auto") {
  RunConfig config;
  config.parallel.ranks = ranks;
  return make_plan(hardware, autoencoder(), config);
}

/// What Larmor finds on a machine of hwloc's synthetic form, all of whose cores the job may use.
Hardware found_on(const char* topology, int cores) {
  HardwareSources sources;
  sources.root = "/a/folder/that/is/not/there";
  sources.environment.emplace();
  sources.affinity.emplace(static_cast<size_t>(cores));
  std::iota(sources.affinity->begin(), sources.affinity->end(), 0);
  sources.topology = topology;
  return detect_hardware(sources);
}

/// "0+0+1": for each rank the memory nodes of its cores, "01" for a rank on two of them.
std::string nodes_of_ranks(const Hardware& hardware, const Plan& plan) {
  std::vector<std::string> ranks;
  for (const RankSeat& seat : plan.ranks) {
    std::set<int> nodes;
    for (const int core : seat.cores) nodes.insert(hardware.numa_of_core[static_cast<size_t>(core)]);
    std::string& rank = ranks.emplace_back();
    for (const int node : nodes) rank += text(node);
  }
  return join(ranks, "+");
}

Plan on_free_cores(double free, int cores, const RunConfig& config = {}) {
  Hardware hardware = machine(cores, 64);
  hardware.free_cores = free;
  return make_plan(hardware, autoencoder(), config);
}

TEST(Threads, AreNoMoreThanTheCoresThatNobodyElseUses) {
  EXPECT_EQ(on_free_cores(2, 2).threads_per_rank, 2);
  EXPECT_EQ(on_free_cores(1.6, 2).threads_per_rank, 2) << "a little work of others does not count";
  EXPECT_EQ(on_free_cores(1.4, 2).threads_per_rank, 1);
  EXPECT_EQ(on_free_cores(0, 2).threads_per_rank, 1) << "one computes in any case";
  EXPECT_EQ(on_free_cores(60.7, 64).threads_per_rank, 61);
  EXPECT_EQ(on_free_cores(0, 2).world_size(), 1) << "with more ranks the batch would be another";
  RunConfig of_two_ranks;
  of_two_ranks.parallel.ranks = "2";
  EXPECT_EQ(on_free_cores(5, 8, of_two_ranks).threads_per_rank, 2);
  EXPECT_EQ(on_free_cores(0, 8, of_two_ranks).threads_per_rank, 2) << "half of the cores in any case";
  EXPECT_EQ(on_free_cores(0, 64).threads_per_rank, 32) << "the kernel shares cores fairly";
}

TEST(Threads, FollowTheLoadOfTheMomentInWhichTheMachineWasMeasuredAndSayThatItIsAnother) {
  Hardware hardware = machine(8, 64);
  hardware.free_cores = 5;
  hardware.measured_on = "2026-01-02";
  for (const double now : {0.0, 4.6, 8.0}) {
    hardware.free_cores_now = now;
    EXPECT_EQ(make_plan(hardware, autoencoder(), RunConfig{}).threads_per_rank, 5) << now;
  }
  hardware.free_cores_now = 8;
  EXPECT_THAT(
      make_plan(hardware, autoencoder(), RunConfig{}).reasons,
      Contains(
          "5 compute threads a rank: of 8 cores others used 3.0 when this machine was measured on "
          "2026-01-02, so 5 cores are counted on; parallel.threads=8 takes all. Others use 0.0 of 8 cores "
          "now, and used 3.0 when this machine was measured on 2026-01-02: `larmor doctor --measure` "
          "measures it again."));
  hardware.free_cores = 8;
  hardware.free_cores_now = 2;
  EXPECT_THAT(
      make_plan(hardware, autoencoder(), RunConfig{}).reasons,
      Contains("8 compute threads a rank: 8 cores of 8 / 1 rank. Others use 6.0 of 8 cores now, and used "
               "0.0 when this machine was measured on 2026-01-02: `larmor doctor --measure` measures it "
               "again."));
  hardware.free_cores_now = 7;
  EXPECT_THAT(make_plan(hardware, autoencoder(), RunConfig{}).reasons,
              Contains("8 compute threads a rank: 8 cores of 8 / 1 rank."));
}

TEST(Threads, AreExplainedByWhatOthersUse) {
  EXPECT_THAT(on_free_cores(1.9, 2).reasons, Contains("2 compute threads a rank: 2 cores of 2 / 1 rank."));
  EXPECT_THAT(
      on_free_cores(0.3, 2).reasons,
      Contains("1 compute thread a rank: of 2 cores others used 1.7 just now, so 1 core is counted on; "
               "parallel.threads=2 takes all."));
  RunConfig of_two_ranks;
  of_two_ranks.parallel.ranks = "2";
  EXPECT_THAT(
      on_free_cores(4, 8, of_two_ranks).reasons,
      Contains("2 compute threads a rank: of 8 cores others used 4.0 just now, so 4 cores are counted "
               "on by 2 ranks; parallel.threads=4 takes all."));
}

TEST(Threads, DoNotFollowTheLoadWhereTheyAreAskedForOrEqualBitsAre) {
  RunConfig config;
  config.parallel.threads = 8;
  EXPECT_EQ(on_free_cores(0, 8, config).threads_per_rank, 8);
  config.parallel.threads.reset();
  config.run.deterministic = true;
  const Plan busy = on_free_cores(0, 8, config), quiet = on_free_cores(8, 8, config);
  EXPECT_EQ(busy.threads_per_rank, 8);
  EXPECT_EQ(busy.reasons, quiet.reasons);
  EXPECT_EQ(plan_for(machine(8, 64)).threads_per_rank, 8) << "a machine by hand is quiet";
}

TEST(Threads, OfRanksOnGpusDoNotFollowTheLoad) {
  Hardware hardware = with_gpus(machine(8, 64), 2, "Card", 24 * gibibyte, 8, 0);
  hardware.free_cores = 0;
  EXPECT_EQ(make_plan(hardware, autoencoder(), RunConfig{}).threads_per_rank, 4);
}

TEST(Threads, AreAPartOfTheCoresUnlessTheirNumberIsSaid) {
  RunConfig config;
  config.parallel.ranks = "2";
  EXPECT_EQ(make_plan(machine(8, 64), autoencoder(), config).threads_per_rank, 4);
  config.parallel.threads = 3;
  const Plan plan = make_plan(machine(8, 64), autoencoder(), config);
  EXPECT_EQ(plan.threads_per_rank, 3);
  EXPECT_THAT(plan.reasons, Contains("3 compute threads a rank, as asked."));
  config.parallel.threads = 5000;
  EXPECT_THROW(make_plan(machine(8, 64), autoencoder(), config), Error);
}

TEST(Cores, OfCpuRanksAreContiguousPartsThatDifferByOneAtMost) {
  const Plan plan = plan_for(machine(8, 64), "3");
  EXPECT_THAT(plan.ranks[0].cores, ElementsAre(0, 1));
  EXPECT_THAT(plan.ranks[1].cores, ElementsAre(2, 3, 4));
  EXPECT_THAT(plan.ranks[2].cores, ElementsAre(5, 6, 7));
}

TEST(Cores, OfOneRankAreAllThatTheJobMayUse) {
  Hardware hardware = machine(4, 16);
  hardware.cores = {9, 10, 12, 13};
  EXPECT_THAT(plan_for(hardware).ranks[0].cores, ElementsAre(9, 10, 12, 13));
}

TEST(Cores, OfOneRankDoNotStraddleMemoryNodesThatInterleave) {
  Hardware hardware = machine(4, 64);
  hardware.numa_of_core = {0, 1, 0, 1};
  const Plan plan = plan_for(hardware, "2");
  EXPECT_THAT(plan.ranks[0].cores, ElementsAre(0, 2));
  EXPECT_THAT(plan.ranks[1].cores, ElementsAre(1, 3));
}

TEST(Cores, OfNoCpuRankLieOnTwoMemoryNodesWhereItFindsCoresForItsThreadsOnOne) {
  struct Machine {
    const char* topology;
    int cores;
    const char *ranks, *nodes;
  };
  for (const auto& [topology, cores, ranks, nodes] : {
           Machine{"node:2 core:4 pu:1", 8, "2", "0+1"},
           Machine{"node:2 core:4 pu:1", 8, "3", "0+0+1"},  // equal parts would lay rank 1 across the nodes
           Machine{"node:2 core:4 pu:2", 16, "6", "0+0+0+1+1+1"},
           Machine{"node:2 core:5 pu:1", 10, "4", "0+0+1+1"},
           Machine{"package:2 node:2 core:6 pu:1", 24, "7", "0+0+1+1+2+2+3"},
           Machine{"node:4 core:2 pu:1", 8, "4", "0+1+2+3"},
       }) {
    const Hardware hardware = found_on(topology, cores);
    const Plan plan = plan_for(hardware, ranks);
    EXPECT_EQ(nodes_of_ranks(hardware, plan), nodes) << topology << " for " << ranks << " ranks";
    std::set<int> bound;
    for (const RankSeat& seat : plan.ranks) {
      EXPECT_GE(std::ssize(seat.cores), plan.threads_per_rank);
      for (const int core : seat.cores) EXPECT_TRUE(bound.insert(core).second) << "core " << core << " twice";
    }
  }
}

TEST(Cores, OfARankAcrossMemoryNodesAreSaid) {
  const Hardware hardware = found_on("node:2 core:8 pu:1", 16);
  const Plan of_one = plan_for(hardware), of_two = plan_for(hardware, "2"),
             of_three = plan_for(hardware, "3");
  EXPECT_THAT(of_one.reasons, Contains("The rank computes across 2 memory nodes; parallel.ranks=2 would give "
                                       "each node a rank of its own."));
  EXPECT_THAT(of_two.reasons, Contains("No rank's cores lie on two of the 2 memory nodes, so what a rank "
                                       "touches first is memory of its own node."));
  EXPECT_EQ(nodes_of_ranks(hardware, of_three), "0+01+1") << "3 ranks of 5 threads";
  EXPECT_THAT(of_three.reasons, Contains("Rank 1 computes across memory nodes: 2 nodes have no room for 3 "
                                         "ranks of 5 threads."));
}

TEST(Cores, KeepHyperthreadsOfOneCoreInOneRank) {
  Hardware hardware = machine(8, 64);
  hardware.physical_of_core = {0, 1, 2, 3, 0, 1, 2, 3};  // 4 to 7 are the siblings of 0 to 3
  const Plan plan = plan_for(hardware, "2");
  EXPECT_THAT(plan.ranks[0].cores, ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(plan.ranks[1].cores, ElementsAre(2, 3, 6, 7));
}

TEST(Cores, OfAGpuRankLieOnTheNodeOfItsCard) {
  Hardware hardware = with_gpus(two_node_machine(8, 128), 4, "Card", 80 * gibibyte, 9, 0);
  const std::vector<int> nodes = {1, 0, 1, 0};
  for (size_t i = 0; i < nodes.size(); ++i) hardware.gpus[i].numa_node = nodes[i];
  const Plan plan = plan_for(hardware);
  EXPECT_THAT(plan.ranks[0].cores, ElementsAre(4, 5));
  EXPECT_THAT(plan.ranks[1].cores, ElementsAre(0, 1));
  EXPECT_THAT(plan.ranks[2].cores, ElementsAre(6, 7));
  EXPECT_THAT(plan.ranks[3].cores, ElementsAre(2, 3));
  EXPECT_THAT(plan.reasons, Contains("Each rank is bound to cores on the memory node of its GPU."));
}

TEST(Cores, AreEqualPartsWhereTheNodeOfACardIsUnknown) {
  Hardware hardware = with_gpus(two_node_machine(8, 128), 2, "Card", 80 * gibibyte, 9, 0);
  hardware.gpus[0].numa_node = 1;
  const Plan plan = plan_for(hardware);
  EXPECT_THAT(plan.ranks[0].cores, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(plan.ranks[1].cores, ElementsAre(4, 5, 6, 7));
}

TEST(Cores, AreEqualPartsWhereTheJobHasNoneNearACard) {
  Hardware hardware = with_gpus(two_node_machine(8, 128), 2, "Card", 80 * gibibyte, 9, 0);
  hardware.cores = {0, 1, 2, 3};
  hardware.numa_of_core = {0, 0, 0, 0};
  hardware.gpus[0].numa_node = 0;
  hardware.gpus[1].numa_node = 1;
  const Plan plan = plan_for(hardware);
  EXPECT_THAT(plan.ranks[0].cores, ElementsAre(0, 1));
  EXPECT_THAT(plan.ranks[1].cores, ElementsAre(2, 3));
}

TEST(Cores, AreNotBoundWhereThereAreFewerThanRanks) {
  const Plan plan = plan_for(with_gpus(machine(2, 128), 4, "Card", 80 * gibibyte, 9, 0));
  for (const RankSeat& seat : plan.ranks) EXPECT_THAT(seat.cores, IsEmpty());
  EXPECT_EQ(plan.threads_per_rank, 1);
  EXPECT_EQ(plan.loader_threads, 1);
  EXPECT_THAT(plan.reasons, Contains("No rank is bound to cores: 2 cores for 4 ranks."));
}

TEST(Prefetch, IsTwoUnlessAskedOrByTheGuide) {
  RunConfig config;
  const Hardware hardware = with_gpus(machine(8, 128), 1, "Card", 80 * gibibyte, 9, 0);
  EXPECT_EQ(make_plan(hardware, autoencoder(), config).prefetch, 2);
  config.plan.profile = "guide";
  Demand demand = autoencoder();
  demand.guide = testing::question_answering_guide();
  EXPECT_EQ(make_plan(hardware, demand, config).prefetch, 4);
  config.data.prefetch = 7;
  EXPECT_EQ(make_plan(hardware, demand, config).prefetch, 7);
}

}  // namespace
}  // namespace larmor
