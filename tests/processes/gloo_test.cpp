// Ranks that are real processes: this program starts itself once a rank, with one of the tests of the
// suite AsRank, which are disabled in an ordinary run.
#include <chrono>
#include <csignal>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <unistd.h>

#include "larmor/base/error.h"
#include "larmor/base/process/process.h"
#include "larmor/comm/communicator.h"
#include "larmor/launch/rank.h"

#include "tests/comm/support/collective_contract.h"
#include "tests/comm/support/rank_threads.h"
#include "tests/parallel/support/small_net.h"
#include "tests/parallel/support/training.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

/// How the ranks ended that ran the given test of AsRank.
std::vector<Ending> run_processes(int size, const std::string& test) {
  int port = 0;
  const int descriptor = testing::listen_on_loopback(port);
  std::vector<Process> processes;
  for (int rank = 0; rank < size; ++rank) {
    ProcessOptions options;
    options.program = own_program();
    options.arguments = {"--gtest_filter=AsRank.DISABLED_" + test, "--gtest_also_run_disabled_tests",
                         "--gtest_brief=1"};
    options.environment = {{"LARMOR_RANK", std::to_string(rank)},
                           {"LARMOR_WORLD_SIZE", std::to_string(size)},
                           {"LARMOR_LOCAL_RANK", std::to_string(rank)},
                           {"LARMOR_LOCAL_WORLD_SIZE", std::to_string(size)},
                           {"LARMOR_MASTER_ADDR", "127.0.0.1"},
                           {"LARMOR_MASTER_PORT", std::to_string(port)},
                           {"LARMOR_GENERATION", "0"},
                           {"OMP_NUM_THREADS", "1"}};
    if (rank == 0) {
      options.environment["LARMOR_STORE_FD"] = std::to_string(descriptor);
      options.keep_open = {descriptor};
    }
    processes.push_back(Process::start(options));
  }
  ::close(descriptor);
  std::vector<Ending> endings;
  for (Process& process : processes) endings.push_back(process.wait());
  return endings;
}

std::unique_ptr<Communicator> connect_as_rank() {
  ConnectOptions options;
  options.limit = std::chrono::seconds(60);
  return connect(find_rank(process_environment()).value(), options);
}

TEST(AsRank, DISABLED_CallsEveryCollective) { testing::check_collectives(*connect_as_rank()); }

TEST(AsRank, DISABLED_Trains) {
  const testing::Training training{.optim = testing::adam(), .type = at::kDouble, .accumulation = 3};
  const at::Tensor weights = testing::train_as_rank(training, *connect_as_rank());
  EXPECT_LE(testing::largest_difference(weights, testing::train_plainly(training)), 1e-11);
}

TEST(AsRank, DISABLED_LosesTheSecond) {
  const std::unique_ptr<Communicator> communicator = connect_as_rank();
  at::Tensor tensor = torch::ones({1 << 16});
  for (int call = 1;; ++call) {
    if (communicator->rank() == 1 && call == 5) ::raise(SIGKILL);
    try {
      communicator->all_reduce(tensor, Reduce::mean).wait();
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::rank_lost);
      EXPECT_THAT(error.message(), HasSubstr("lost connection to a peer in all_reduce #5"));
      return;
    }
  }
}

TEST(GlooProcesses, KeepTheContractOfACommunicator) {
  for (const int size : {2, 3}) {
    for (const Ending& ending : run_processes(size, "CallsEveryCollective")) {
      EXPECT_TRUE(ending.ok()) << ending.describe();
    }
  }
}

TEST(GlooProcesses, TrainAsAPlainLoop) {
  for (const Ending& ending : run_processes(2, "Trains")) EXPECT_TRUE(ending.ok()) << ending.describe();
}

TEST(GlooProcesses, NoticeAtOnceThatARankWasKilled) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Ending> endings = run_processes(3, "LosesTheSecond");
  EXPECT_TRUE(endings[0].ok()) << endings[0].describe();
  EXPECT_EQ(endings[1].signal, SIGKILL);
  EXPECT_TRUE(endings[2].ok()) << endings[2].describe();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30))
      << "a killed peer has to be noticed long before the limit";
}

}  // namespace
}  // namespace larmor
