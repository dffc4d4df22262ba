#include "larmor/launch/rank.h"

#include <cstdlib>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

namespace larmor {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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

Environment with_variables(Environment all, const Environment& more) {
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
  const auto rank = find_rank(with_variables(ours, {{"LARMOR_STORE_FD", "5"},
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
  EXPECT_FALSE(
      find_rank(with_variables(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}}))->agent_hosts_store);
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
  EXPECT_EQ(find_rank(with_variables(five, {{"RANK", "5"}, {"WORLD_SIZE", "8"}}))->local_count, 2);
  EXPECT_NE(refusal(with_variables(five, {{"LOCAL_RANK", "2"}})), "");
}

TEST(FindRank, RefusesNumbersThatAreNone) {
  for (const auto& value : {"", "x", "1x", " 1", "-1", "4", "1.0", "99999999999999999999"}) {
    EXPECT_THAT(refusal(with_variables(ours, {{"LARMOR_RANK", value}})),
                AllOf(HasSubstr("LARMOR_RANK=\"" + std::string(value) + "\""), HasSubstr("from 0 to 3")));
  }
  EXPECT_NE(refusal(with_variables(torchrun, {{"LOCAL_RANK", "4"}})), "");
  EXPECT_NE(refusal(with_variables(torchrun, {{"LOCAL_WORLD_SIZE", "9"}})), "");
  EXPECT_NE(refusal(with_variables(torchrun, {{"MASTER_PORT", "65536"}})), "");
  EXPECT_NE(refusal(with_variables(torchrun, {{"MASTER_PORT", "0"}})), "");
  EXPECT_NE(refusal(with_variables(torchrun, {{"MASTER_ADDR", ""}})), "");
  EXPECT_NE(refusal(with_variables(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "perhaps"}})), "");
  EXPECT_NE(refusal(with_variables(ours, {{"LARMOR_STORE_FD", "-3"}})), "");
}

TEST(FindRank, TrustsOurLauncherMostWhenBothAgree) {
  const auto rank = find_rank(with_variables(ours, {{"RANK", "1"}, {"WORLD_SIZE", "4"}}));
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->launcher, "larmor");
}

TEST(FindRank, NamesBothValuesWhenTwoSourcesDisagree) {
  EXPECT_THAT(refusal(with_variables(ours, {{"RANK", "0"}})),
              AllOf(HasSubstr("LARMOR_RANK=1"), HasSubstr("RANK=0")));
  EXPECT_THAT(refusal(with_variables(ours, torchrun)),
              AllOf(HasSubstr("LARMOR_RANK=1"), HasSubstr("RANK=5")));
}

TEST(FindRank, DoesNotMindAnotherProgramsMaster) {
  EXPECT_TRUE(find_rank(with_variables(ours, {{"MASTER_ADDR", "node-a"}, {"MASTER_PORT", "29500"}})));
}

TEST(FindRank, IgnoresTheDisagreementOfATorchrunWhoseAgentWeAre) {
  const auto rank =
      find_rank(with_variables(with_variables(ours, torchrun), {{"TORCHELASTIC_RUN_ID", "none"}}));
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->launcher, "larmor");
  EXPECT_EQ(rank->count, 4) << "fewer than torchrun started, after a restart with those that were left";
}

/// Three tasks on two nodes; this is the last one of the first.
const Environment srun = {{"SLURM_JOB_ID", "1234"},
                          {"SLURM_STEP_ID", "5"},
                          {"SLURM_NTASKS", "3"},
                          {"SLURM_STEP_NUM_TASKS", "3"},
                          {"SLURM_STEP_TASKS_PER_NODE", "2,1"},
                          {"SLURM_STEP_NODELIST", "gpu[07-08]"},
                          {"SLURM_PROCID", "1"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_NODEID", "0"}};
const Environment batch_script = {{"SLURM_JOB_ID", "1234"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"},
                                  {"SLURM_LOCALID", "0"},   {"SLURM_NODEID", "0"}, {"SLURM_NPROCS", "4"},
                                  {"SLURM_NODELIST", "n1"}, {"SLURM_NNODES", "1"}};
const Environment one_task = {{"SLURM_JOB_ID", "1234"},      {"SLURM_STEP_ID", "0"},
                              {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_STEP_TASKS_PER_NODE", "1"},
                              {"SLURM_STEP_NODELIST", "n1"}, {"SLURM_PROCID", "0"},
                              {"SLURM_LOCALID", "0"},        {"SLURM_NODEID", "0"}};
const Environment mpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                            {"PMIX_NAMESPACE", "918880257"}};
const Environment hydra = {
    {"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
const Environment master = {{"MASTER_ADDR", "node-a"}, {"MASTER_PORT", "29400"}};

TEST(FindRank, ReadsTheStepThatSrunStarted) {
  const auto rank = find_rank(srun);
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->launcher, "slurm");
  EXPECT_EQ(rank->index, 1);
  EXPECT_EQ(rank->count, 3);
  EXPECT_EQ(rank->local_index, 1);
  EXPECT_EQ(rank->local_count, 2);
  EXPECT_EQ(rank->master_address, "gpu07");
  EXPECT_FALSE(rank->agent_hosts_store);
  const auto last =
      find_rank(with_variables(srun, {{"SLURM_PROCID", "2"}, {"SLURM_LOCALID", "0"}, {"SLURM_NODEID", "1"}}));
  EXPECT_EQ(last->local_count, 1);
  EXPECT_EQ(last->master_address, "gpu07");
  EXPECT_EQ(last->master_port, rank->master_port);
}

TEST(FindRank, MakesThePortOfJobAndStep) {
  const auto port = find_rank(srun)->master_port;
  EXPECT_GE(port, 20000);
  EXPECT_LE(port, 29999);
  EXPECT_NE(port, find_rank(with_variables(srun, {{"SLURM_STEP_ID", "6"}}))->master_port);
  EXPECT_NE(port, find_rank(with_variables(srun, {{"SLURM_JOB_ID", "1235"}}))->master_port);
}

TEST(FindRank, TakesTheMasterThatAJobFileNames) {
  const auto rank = find_rank(with_variables(srun, {{"MASTER_ADDR", "gpu07-ib"}, {"MASTER_PORT", "4321"}}));
  EXPECT_EQ(rank->master_address, "gpu07-ib");
  EXPECT_EQ(rank->master_port, 4321);
  EXPECT_NE(refusal(with_variables(srun, {{"MASTER_PORT", "0"}})), "");
}

TEST(FindRank, NeverTakesLoopbackForTheWayToAnotherHost) {
  for (const auto* address : {"localhost", "127.0.0.1", "127.1.2.3", "::1", ""}) {
    EXPECT_THAT(refusal(with_variables(srun, {{"MASTER_ADDR", address}})), HasSubstr("MASTER_ADDR="))
        << address;
    EXPECT_NE(refusal(with_variables(with_variables(hydra, master), {{"MASTER_ADDR", address}})), "")
        << address;
  }
}

TEST(FindRank, NamesTheVariablesOfAStepThatAreMissing) {
  for (const auto* name : {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_STEP_NODELIST",
                           "SLURM_STEP_TASKS_PER_NODE", "SLURM_JOB_ID", "SLURM_STEP_ID"}) {
    EXPECT_THAT(refusal(without(srun, name)),
                AllOf(HasSubstr("SLURM_STEP_NUM_TASKS=3"), HasSubstr(std::string("but not ") + name)));
  }
}

TEST(FindRank, RefusesAStepThatContradictsItself) {
  EXPECT_THAT(refusal(with_variables(srun, {{"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}})),
              AllOf(HasSubstr("SLURM_STEP_NUM_TASKS=3"), HasSubstr("SLURM_STEP_TASKS_PER_NODE=2(x2)")));
  EXPECT_THAT(refusal(with_variables(srun, {{"SLURM_STEP_NODELIST", "gpu[07-09]"}})),
              AllOf(HasSubstr("SLURM_STEP_NODELIST=gpu[07-09]"), HasSubstr("SLURM_STEP_TASKS_PER_NODE=2,1")));
  EXPECT_THAT(refusal(with_variables(srun, {{"SLURM_PROCID", "3"}})), HasSubstr("SLURM_PROCID=\"3\""));
  EXPECT_THAT(refusal(with_variables(srun, {{"SLURM_LOCALID", "2"}})), HasSubstr("SLURM_LOCALID=\"2\""));
  EXPECT_THAT(refusal(with_variables(srun, {{"SLURM_NODEID", "2"}})), HasSubstr("SLURM_NODEID=\"2\""));
  EXPECT_THAT(refusal(with_variables(srun, {{"SLURM_STEP_NODELIST", "$(hostname)"}})),
              HasSubstr("$(hostname)"));
  EXPECT_NE(refusal(with_variables(srun, {{"SLURM_STEP_NUM_TASKS", "many"}})), "");
}

TEST(FindRank, ReadsWhatMpirunSays) {
  const auto rank = find_rank(mpirun);
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->launcher, "mpi");
  EXPECT_EQ(rank->index, 1);
  EXPECT_EQ(rank->count, 2);
  EXPECT_EQ(rank->local_index, 1);
  EXPECT_EQ(rank->local_count, 2);
  EXPECT_EQ(rank->master_address, "127.0.0.1") << "all ranks are on this host";
  EXPECT_GE(rank->master_port, 20000);
  EXPECT_NE(rank->master_port,
            find_rank(with_variables(mpirun, {{"PMIX_NAMESPACE", "918880258"}}))->master_port);

  const auto mvapich = find_rank(with_variables({{"MV2_COMM_WORLD_RANK", "0"},
                                                 {"MV2_COMM_WORLD_SIZE", "2"},
                                                 {"MV2_COMM_WORLD_LOCAL_RANK", "0"},
                                                 {"MV2_COMM_WORLD_LOCAL_SIZE", "1"}},
                                                master));
  EXPECT_EQ(mvapich->launcher, "mpi");
  EXPECT_EQ(mvapich->count, 2);

  const auto mpich = find_rank(with_variables(hydra, master));
  EXPECT_EQ(mpich->launcher, "pmi");
  EXPECT_EQ(mpich->index, 3);
  EXPECT_EQ(mpich->local_count, 2);
  EXPECT_EQ(mpich->master_address, "node-a");
  EXPECT_EQ(mpich->master_port, 29400);
}

TEST(FindRank, AsksForTheMasterWhereMpirunReachesOverHosts) {
  const Environment over_hosts = with_variables(mpirun, {{"OMPI_COMM_WORLD_SIZE", "4"}});
  EXPECT_THAT(refusal(over_hosts),
              AllOf(HasSubstr("OMPI_COMM_WORLD_SIZE=4"), HasSubstr("OMPI_COMM_WORLD_LOCAL_SIZE=2")));
  EXPECT_NE(refusal(with_variables(over_hosts, {{"MASTER_ADDR", "node-a"}})), "") << "the port is missing";
  EXPECT_NE(refusal(with_variables(over_hosts, {{"MASTER_PORT", "29400"}})), "") << "the address is missing";
  EXPECT_EQ(find_rank(with_variables(over_hosts, master))->master_address, "node-a");
  EXPECT_NE(refusal(without(mpirun, "PMIX_NAMESPACE")), "") << "nothing to make a port of";
  EXPECT_THAT(refusal(without(mpirun, "OMPI_COMM_WORLD_LOCAL_RANK")),
              HasSubstr("but not OMPI_COMM_WORLD_LOCAL_RANK"));
}

/// Who is started in whose environment, and whose rank that makes: "" none, "!" a refusal.
struct Nesting {
  const char* what;
  Environment environment;
  std::string launcher;
  int count;
};

TEST(FindRank, BelievesTheInnermostLauncher) {
  const Environment real_torchrun = with_variables(torchrun, {{"TORCHELASTIC_RUN_ID", "none"}});
  const Environment by_hand = with_variables(
      {{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}}, master);
  const Environment one_by_mpirun = {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}};
  const Environment slurm_pmi = {{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}, {"PMI_JOBID", "1234.5"}};
  // Its daemons: two tasks of a step, whatever the ranks are.
  const Environment daemons =
      with_variables(srun, {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}});
  const std::vector<Nesting> table{
      {"a batch script", batch_script, "", 0},
      {"srun of one task", one_task, "", 0},
      {"mpirun of one", one_by_mpirun, "", 0},
      {"a stray number of a node", {{"NODE_RANK", "1"}, {"GROUP_RANK", "1"}, {"SLURM_NODEID", "1"}}, "", 0},
      {"a stray PMIx rank", {{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "x"}}, "", 0},
      {"torchrun in a batch script", with_variables(batch_script, real_torchrun), "torchrun", 8},
      {"torchrun once a node", with_variables(srun, real_torchrun), "torchrun", 8},
      {"torchrun below mpirun", with_variables(mpirun, real_torchrun), "torchrun", 8},
      {"our launcher once a node", with_variables(srun, ours), "larmor", 4},
      {"our launcher below mpirun", with_variables(mpirun, ours), "larmor", 4},
      {"mpirun in a batch script", with_variables(batch_script, mpirun), "mpi", 2},
      {"mpirun in srun of one task", with_variables(one_task, mpirun), "mpi", 2},
      {"mpirun through daemons of srun", with_variables(daemons, mpirun), "mpi", 2},
      {"mpiexec through daemons of srun", with_variables(with_variables(daemons, hydra), master), "pmi", 4},
      {"srun with PMI", with_variables(srun, slurm_pmi), "slurm", 3},
      {"srun below mpirun of one", with_variables(srun, one_by_mpirun), "slurm", 3},
      {"srun whose job file plays torchrun", with_variables(srun, by_hand), "torchrun", 3},
      {"the same with another rank", with_variables(with_variables(srun, by_hand), {{"RANK", "0"}}), "!", 0},
      {"the same with another number of ranks",
       with_variables(with_variables(srun, by_hand), {{"WORLD_SIZE", "6"}}), "!", 0},
      {"the same with another local rank",
       with_variables(with_variables(srun, by_hand), {{"LOCAL_RANK", "0"}}), "!", 0},
      {"RANK by hand in srun of one task", with_variables(one_task, by_hand), "torchrun", 3},
      {"RANK by hand in a batch script", with_variables(batch_script, by_hand), "torchrun", 3},
      {"RANK by hand below an mpirun of two", with_variables(mpirun, by_hand), "!", 0},
      {"all ranks the first, by a stray variable", with_variables(srun, {{"RANK", "0"}, {"WORLD_SIZE", "1"}}),
       "!", 0}};
  for (const auto& row : table) {
    if (row.launcher == "!") {
      EXPECT_NE(refusal(row.environment), "") << row.what;
      continue;
    }
    const auto rank = find_rank(row.environment);
    ASSERT_EQ(rank.has_value(), !row.launcher.empty()) << row.what;
    if (!rank) continue;
    EXPECT_EQ(rank->launcher, row.launcher) << row.what;
    EXPECT_EQ(rank->count, row.count) << row.what;
  }
}

TEST(FindRank, NamesBothValuesWhenAHandDisagreesWithTheScheduler) {
  const Environment by_hand =
      with_variables({{"RANK", "0"}, {"WORLD_SIZE", "3"}, {"LOCAL_RANK", "1"}}, master);
  EXPECT_THAT(refusal(with_variables(srun, by_hand)),
              AllOf(HasSubstr("RANK=0"), HasSubstr("SLURM_PROCID=1")));
  EXPECT_THAT(refusal(with_variables(mpirun, with_variables(by_hand, {{"RANK", "1"}}))),
              AllOf(HasSubstr("WORLD_SIZE=3"), HasSubstr("OMPI_COMM_WORLD_SIZE=2")));
}

TEST(FindRank, TakesTheOnlyGpuInSightOfEachTask) {
  const auto device = [](const Environment& environment, const std::string& visible) {
    return find_rank(with_variables(environment, {{"CUDA_VISIBLE_DEVICES", visible}}))->visible_device;
  };
  EXPECT_EQ(find_rank(srun)->visible_device, -1);
  EXPECT_EQ(device(srun, "1"), 0);
  EXPECT_EQ(device(srun, "GPU-8f2c1a77"), 0);
  EXPECT_EQ(device(srun, "0,1"), -1) << "both see both";
  EXPECT_EQ(device(srun, ""), -1);
  EXPECT_EQ(device(srun, "-1"), -1);
  EXPECT_EQ(device(ours, "2"), 0) << "a rank inherits what its agent was bound to";
  EXPECT_EQ(device(ours, "0,1"), -1);
  EXPECT_EQ(device(with_variables(ours, {{"SLURM_GPUS_PER_TASK", "2"}}), "0,1"), 0)
      << "two each, of which it takes one";
  EXPECT_EQ(device(with_variables(ours, {{"SLURM_GPUS_PER_TASK", "1"}}), "0,1"), -1);
}

TEST(ProcessEnvironment, HoldsWhatTheProcessWasGiven) {
  setenv("LARMOR_TEST_VARIABLE", "a=b", 1);
  EXPECT_EQ(process_environment().at("LARMOR_TEST_VARIABLE"), "a=b");
  unsetenv("LARMOR_TEST_VARIABLE");
}

}  // namespace
}  // namespace larmor
