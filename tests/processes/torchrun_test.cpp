// torchrun starts us: static, and with restarts of its own.
#include <csignal>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/text.h"

#include "tests/processes/support/toy_program.h"
#include "tests/processes/support/two_ranks.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using Words = std::vector<std::string>;

class Torchrun : public TwoRanks {
 protected:
  void SetUp() override {
    const char* oracles = std::getenv("LARMOR_ORACLES");
    torchrun_ = std::filesystem::path(oracles == nullptr ? "" : oracles) / "bin" / "torchrun";
    if (!std::filesystem::exists(torchrun_))
      GTEST_SKIP() << "LARMOR_ORACLES names no Python environment with torchrun in it";
  }

  /// Any free port: two tests may run at a time.
  Running torchrun(const Words& larmor_words,
                   const Words& flags = {"--rdzv-endpoint=localhost:0", "--rdzv-backend=c10d"}) const {
    const Words ours{"--nproc-per-node", "2", "--no-python"};
    return Running(flags + ours + command(larmor_words),
                   {.folder = folder(), .environment = {{"OMP_NUM_THREADS", "1"}}, .program = torchrun_});
  }

  std::filesystem::path only_run() const {
    std::filesystem::path found;
    for (const auto& entry : std::filesystem::directory_iterator(folder() / "runs")) {
      if (entry.is_symlink()) continue;
      EXPECT_TRUE(found.empty()) << "a second run: " << entry.path();
      found = entry.path();
    }
    return found;
  }

  std::filesystem::path torchrun_;
};

/// Torchrun's children are agents; the ranks are theirs.
std::vector<int> descendants_of(int parent) {
  auto all = children_of(parent);
  for (size_t i = 0; i < all.size(); ++i) {
    const auto below = children_of(all[i]);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

TEST_F(Torchrun, TwoRanksTrainAsOurOwnLauncherDoes) {
  const auto end = torchrun(words("by_torchrun")).wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(trained_state(run("by_torchrun")), own());
}

TEST_F(Torchrun, AStaticRendezvousTrainsToo) {
  const auto port = text("--master-port=", 20000 + getpid() % 10000);  // another for whoever tests beside us
  const auto end = torchrun(words("static"), {"--nnodes=1", "--master-addr=127.0.0.1", port}).wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(trained_state(run("static")), own());
}

TEST_F(Torchrun, AStopReachesTheRanksAndTheSameCommandGoesOn) {
  {
    auto first = torchrun(words("stopped"));
    ASSERT_TRUE(reaches_step(run("stopped"), 6)) << first.err();
    first.send(SIGTERM);  // torchrun passes it on and ends with 1, whatever its ranks say
    EXPECT_NE(first.wait().status, 0);
  }
  const auto end = torchrun(words("stopped")).wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(generations_of(run("stopped")), ElementsAre(0, 1));
  EXPECT_EQ(trained_state(run("stopped")), own());
}

TEST_F(Torchrun, TrainsEveryStageUnderOneStart) {
  const Words chain{"train",
                    "toy",
                    "--stage",
                    "all",
                    "-c",
                    "tiny",
                    "--threads",
                    "1",
                    "train.length=4st",
                    "train.validate_every=2st",
                    "checkpoint.every=2st",
                    "optim.schedule.warmup=0"};
  const Words flags{"--standalone", "--nproc-per-node", "2", "--no-python", toy_program().string()};
  Running all(flags + chain,
              {.folder = folder(), .environment = {{"OMP_NUM_THREADS", "1"}}, .program = torchrun_});
  const auto end = all.wait();
  ASSERT_EQ(end.status, 0) << end.err;
  const auto one = larmor_program(chain + Words{"--ranks", "2", "run.name=one"},
                                  {.folder = folder(), .program = toy_program()});
  ASSERT_EQ(one.status, 0) << one.err;
  int runs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder() / "runs")) {
    const auto name = entry.path().filename().string();
    if (entry.is_symlink() || !name.starts_with("torchrun-")) continue;
    const auto* const stage = name.ends_with("-coder") ? "one-coder" : "one-refiner";
    EXPECT_EQ(trained_state(entry.path()), trained_state(run(stage))) << name;
    ++runs;
  }
  EXPECT_EQ(runs, 2) << "the job of torchrun gives them their name";
}

/// Kills one of the processes that torchrun's group consists of; the first two are the agents, the next two
/// the ranks.
void kill_one_of(pid_t torchrun, size_t which) {
  const auto processes = descendants_of(torchrun);
  ASSERT_EQ(processes.size(), 4U);
  kill(processes[which], SIGKILL);
}

class TorchrunRestart : public Torchrun, public ::testing::WithParamInterface<size_t> {};

TEST_P(TorchrunRestart, GoesOnWithTheSameRun) {
  // Without a name of its own, any other start would make a new run.
  auto unnamed = words("none");
  std::erase(unnamed, "run.name=none");
  auto all = torchrun(unnamed, {"--standalone", "--max-restarts=1", "--monitor-interval=0.1"});
  const auto begun = [&] { return std::filesystem::exists(folder() / "runs" / "latest"); };
  ASSERT_TRUE(becomes_true(begun, /*seconds=*/60)) << all.err();
  const auto the_run = only_run();
  ASSERT_TRUE(reaches_step(the_run, 6)) << all.err();
  ASSERT_NO_FATAL_FAILURE(kill_one_of(all.id(), GetParam()));
  const auto end = all.wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(only_run(), the_run);
  EXPECT_EQ(trained_state(the_run), own());
}

INSTANTIATE_TEST_SUITE_P(AfterAnAgentWasKilled, TorchrunRestart, ::testing::Values(1));
INSTANTIATE_TEST_SUITE_P(AfterARankWasKilled, TorchrunRestart, ::testing::Values(3));

}  // namespace
}  // namespace larmor::testing
