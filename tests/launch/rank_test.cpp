#include "larmor/launch/rank.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Environment ours = {{"LARMOR_RANK", "1"},
                          {"LARMOR_WORLD_SIZE", "4"},
                          {"LARMOR_LOCAL_RANK", "1"},
                          {"LARMOR_LOCAL_WORLD_SIZE", "4"},
                          {"LARMOR_MASTER_ADDR", "127.0.0.1"},
                          {"LARMOR_MASTER_PORT", "40123"}};
const Environment torchrun = {{"RANK", "5"},
                              {"WORLD_SIZE", "8"},
                              {"LOCAL_RANK", "1"},
                              {"LOCAL_WORLD_SIZE", "4"},
                              {"MASTER_ADDR", "node-a"},
                              {"MASTER_PORT", "29500"},
                              {"TORCHELASTIC_RESTART_COUNT", "2"},
                              {"TORCHELASTIC_USE_AGENT_STORE", "True"}};

Environment with(Environment all, const Environment& more) {
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}

Environment without(Environment all, const std::string& name) {
  all.erase(name);
  return all;
}

std::string refusal(const Environment& environment) {
  try {
    find_rank(environment);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_NE(error.hint(), "");
    return error.message();
  }
  return "";
}

TEST(FindRank, FindsNoneInAnOrdinaryShell) {
  EXPECT_FALSE(find_rank({{"HOME", "/root"}, {"OMP_NUM_THREADS", "4"}}));
}

TEST(FindRank, MakesNoRankOfAMastersAddressAlone) {
  EXPECT_FALSE(find_rank({{"MASTER_ADDR", "node-a"}, {"MASTER_PORT", "29500"}}));
}

TEST(FindRank, ReadsWhatOurLauncherSays) {
  const auto rank = find_rank(with(ours, {{"LARMOR_STORE_FD", "5"},
                                          {"LARMOR_GENERATION", "3"},
                                          {"LARMOR_CONSOLE_OUT", "10"},
                                          {"LARMOR_CONSOLE_ERR", "11"}}));
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->launcher, "larmor");
  EXPECT_EQ(rank->index, 1);
  EXPECT_EQ(rank->count, 4);
  EXPECT_EQ(rank->local_index, 1);
  EXPECT_EQ(rank->local_count, 4);
  EXPECT_EQ(rank->master_address, "127.0.0.1");
  EXPECT_EQ(rank->master_port, 40123);
  EXPECT_EQ(rank->store_descriptor, 5);
  EXPECT_EQ(rank->generation, 3);
  EXPECT_EQ(rank->console_out, 10);
  EXPECT_EQ(rank->console_error, 11);
  EXPECT_FALSE(rank->agent_hosts_store);
}

TEST(FindRank, ReadsWhatTorchrunSays) {
  const auto rank = find_rank(torchrun);
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->launcher, "torchrun");
  EXPECT_EQ(rank->index, 5);
  EXPECT_EQ(rank->count, 8);
  EXPECT_EQ(rank->local_index, 1);
  EXPECT_EQ(rank->local_count, 4);
  EXPECT_EQ(rank->master_address, "node-a");
  EXPECT_EQ(rank->master_port, 29500);
  EXPECT_EQ(rank->store_descriptor, -1);
  EXPECT_EQ(rank->generation, 2);
  EXPECT_TRUE(rank->agent_hosts_store);
}

TEST(FindRank, TakesTheStoreIntoRankZeroWhereNoAgentKeepsIt) {
  EXPECT_FALSE(find_rank(without(torchrun, "TORCHELASTIC_USE_AGENT_STORE"))->agent_hosts_store);
  EXPECT_FALSE(find_rank(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}}))->agent_hosts_store);
}

TEST(FindRank, NamesEveryVariableThatIsMissing) {
  for (const auto& name :
       {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    if (name != std::string("LOCAL_WORLD_SIZE")) {
      EXPECT_THAT(refusal(without(torchrun, name)), HasSubstr(std::string("but not ") + name));
    }
    const std::string our_name = std::string("LARMOR_") + name;
    EXPECT_THAT(refusal(without(ours, our_name)), HasSubstr("but not " + our_name));
  }
  EXPECT_THAT(refusal({{"WORLD_SIZE", "2"}, {"RANK", "0"}}),
              HasSubstr("but not LOCAL_RANK, MASTER_ADDR, MASTER_PORT"));
}

TEST(FindRank, GoesWithoutTheNumberOfLocalRanks) {
  const Environment five = {{"RANK", "1"},
                            {"WORLD_SIZE", "2"},
                            {"LOCAL_RANK", "1"},
                            {"MASTER_ADDR", "127.0.0.1"},
                            {"MASTER_PORT", "29500"}};
  EXPECT_EQ(find_rank(five)->local_count, 2) << "one host, as far as this rank can tell";
  EXPECT_EQ(find_rank(with(five, {{"RANK", "5"}, {"WORLD_SIZE", "8"}}))->local_count, 2);
  EXPECT_NE(refusal(with(five, {{"LOCAL_RANK", "2"}})), "");
}

TEST(FindRank, RefusesNumbersThatAreNone) {
  for (const auto& value : {"", "x", "1x", " 1", "-1", "4", "1.0", "99999999999999999999"}) {
    EXPECT_THAT(refusal(with(ours, {{"LARMOR_RANK", value}})),
                AllOf(HasSubstr("LARMOR_RANK=\"" + std::string(value) + "\""), HasSubstr("from 0 to 3")));
  }
  EXPECT_NE(refusal(with(torchrun, {{"LOCAL_RANK", "4"}})), "");
  EXPECT_NE(refusal(with(torchrun, {{"LOCAL_WORLD_SIZE", "9"}})), "");
  EXPECT_NE(refusal(with(torchrun, {{"MASTER_PORT", "65536"}})), "");
  EXPECT_NE(refusal(with(torchrun, {{"MASTER_PORT", "0"}})), "");
  EXPECT_NE(refusal(with(torchrun, {{"MASTER_ADDR", ""}})), "");
  EXPECT_NE(refusal(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "perhaps"}})), "");
  EXPECT_NE(refusal(with(ours, {{"LARMOR_STORE_FD", "-3"}})), "");
}

TEST(FindRank, TrustsOurLauncherMostWhenBothAgree) {
  const auto rank = find_rank(with(ours, {{"RANK", "1"}, {"WORLD_SIZE", "4"}}));
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->launcher, "larmor");
}

TEST(FindRank, NamesBothValuesWhenTwoSourcesDisagree) {
  EXPECT_THAT(refusal(with(ours, {{"RANK", "0"}})), AllOf(HasSubstr("LARMOR_RANK=1"), HasSubstr("RANK=0")));
  EXPECT_THAT(refusal(with(ours, torchrun)), AllOf(HasSubstr("LARMOR_RANK=1"), HasSubstr("RANK=5")));
}

TEST(FindRank, DoesNotMindAnotherProgramsMaster) {
  EXPECT_TRUE(find_rank(with(ours, {{"MASTER_ADDR", "node-a"}, {"MASTER_PORT", "29500"}})));
}

TEST(FindRank, RefusesToBecomeAsManyRunsAsSrunStartedTasks) {
  EXPECT_THAT(refusal({{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}}),
              HasSubstr("SLURM_STEP_NUM_TASKS=4"));
  EXPECT_THAT(refusal({{"OMPI_COMM_WORLD_SIZE", "2"}}), HasSubstr("OMPI_COMM_WORLD_SIZE=2"));
}

TEST(FindRank, StartsByItselfInAStepOfOneTaskAndInABatchScript) {
  EXPECT_FALSE(find_rank({{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}}));
  EXPECT_FALSE(find_rank({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "17"}}));
  EXPECT_TRUE(find_rank(with(torchrun, {{"SLURM_STEP_NUM_TASKS", "2"}})));
}

TEST(ProcessEnvironment, HoldsWhatTheProcessWasGiven) {
  setenv("LARMOR_TEST_VARIABLE", "a=b", 1);
  EXPECT_EQ(process_environment().at("LARMOR_TEST_VARIABLE"), "a=b");
  unsetenv("LARMOR_TEST_VARIABLE");
}

}  // namespace
}  // namespace larmor
