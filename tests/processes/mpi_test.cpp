// mpirun starts us: its variables are all we take from MPI.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/processes/support/installed_program.h"
#include "tests/processes/support/two_ranks.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr int usage = 2, stopped = 75;

class Mpi : public TwoRanks {
 protected:
  void SetUp() override {
    if (installed_program("mpirun").empty())
      GTEST_SKIP() << "mpirun is not installed (script/packages-launchers.txt)";
  }

  Running mpirun(const Words& larmor_words, const Words& before = {}) const {
    Words all{"--oversubscribe", "--bind-to", "none", "-np", "2"};
    if (geteuid() == 0) all.emplace_back("--allow-run-as-root");
    return Running(all + before + command(larmor_words), {.folder = folder(),
                                                          .environment = {{"OMP_NUM_THREADS", "1"}},
                                                          .program = installed_program("mpirun")});
  }
};

TEST_F(Mpi, TwoRanksOfMpirunTrainAsOurOwnLauncherDoes) {
  const auto end = mpirun(words("by_mpirun")).wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(trained_state(run("by_mpirun")), own());
}

TEST_F(Mpi, RanksThatAreAskedToStopGoOnLater) {
  auto first = mpirun(words("stopped"));
  ASSERT_TRUE(reaches_step(run("stopped"), 6)) << first.err();
  first.send(SIGUSR1);  // which mpirun forwards; TERM would make it kill
  EXPECT_EQ(first.wait().status, stopped) << first.err();
  const auto second = mpirun({"train", "stopped"}).wait();
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(generations_of(run("stopped")), ElementsAre(0, 1));
  EXPECT_EQ(trained_state(run("stopped")), own());
}

TEST_F(Mpi, RanksThatAreOnSeveralHostsAskForTheirMaster) {
  // What the ranks of two hosts would see.
  const Words hosts{"env", "OMPI_COMM_WORLD_LOCAL_SIZE=1", "OMPI_COMM_WORLD_LOCAL_RANK=0"};
  const auto end = mpirun(words("lost"), hosts).wait();
  EXPECT_EQ(end.status, usage) << end.err;
  EXPECT_THAT(end.err,
              AllOf(HasSubstr("OMPI_COMM_WORLD_LOCAL_SIZE=1"), HasSubstr("MASTER_ADDR and MASTER_PORT")));
  EXPECT_FALSE(std::filesystem::exists(run("lost")));
}

}  // namespace
}  // namespace larmor::testing
