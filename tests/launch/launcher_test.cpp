#include "larmor/launch/launcher.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "larmor/base/files/file.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"

#include "tests/launch/support/acting.h"

namespace larmor {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class RunRanks : public ::testing::Test {
 protected:
  GroupEnding run(const std::vector<std::string>& acts) {
    return run_ranks(plan_for(static_cast<int>(acts.size())), acting(logs(), acts));
  }
  std::filesystem::path logs() const { return scratch_.path() / "log"; }
  std::string log_of(int rank) const { return read_text(logs() / text("rank-", rank, ".log")); }
  std::string launcher_log() const { return read_text(logs() / "launcher.log"); }

 private:
  ScratchFolder scratch_;
};

TEST_F(RunRanks, EndsWithDoneWhenEveryRankIsDone) {
  const GroupEnding ending = run({"end=0", "late=0"});
  EXPECT_EQ(ending.exit, Exit::done);
  EXPECT_EQ(ending.raw_status, 0);
  EXPECT_EQ(ending.first_rank, -1);
  EXPECT_EQ(ending.message, "");
}

TEST_F(RunRanks, TellsARankWhoItIsAndWhatItMayUse) {
  Plan plan = plan_for(2);
  plan.threads_per_rank = 3;
  plan.ranks[1].cores = {0};
  LaunchOptions options = acting(logs(), {"facts", "facts"});
  options.generation = 4;
  EXPECT_EQ(run_ranks(plan, options).exit, Exit::done);
  EXPECT_THAT(log_of(0), StartsWith("rank 0/2 generation 4 threads 3 3 devices by PCI_BUS_ID cores"));
  EXPECT_THAT(log_of(0), EndsWith("store listens\n"));
  EXPECT_EQ(log_of(1), "rank 1/2 generation 4 threads 3 3 devices by PCI_BUS_ID cores 0 store none\n");
}

TEST_F(RunRanks, AppendsToTheLogsOfEarlierStarts) {
  run({"facts"});
  run({"facts"});
  const std::string log = log_of(0);
  EXPECT_NE(log.find("rank 0/1"), log.rfind("rank 0/1"));
}

TEST_F(RunRanks, NamesTheSignalThePhaseAndTheStepOfARankThatWasKilled) {
  const GroupEnding ending = run({"wait", "kill=9"});
  EXPECT_EQ(ending.exit, Exit::rank_lost);
  EXPECT_EQ(ending.raw_status, 8);
  EXPECT_EQ(ending.first_rank, 1);
  EXPECT_EQ(ending.message, "rank 1 was killed by SIGKILL while computing step 120");
  EXPECT_THAT(ending.last_lines, StartsWith("line 11\n"));
  EXPECT_THAT(ending.last_lines, EndsWith("line 30"));
}

TEST_F(RunRanks, ShowsNoLogLinesOfAnEarlierStart) {
  run({"facts"});
  const GroupEnding ending = run({"end=3"});
  EXPECT_EQ(ending.last_lines, "");
}

TEST_F(RunRanks, PassesOnTheStatusOfARankThatFailedByItself) {
  for (const int status : {2, 3, 4, 5, 6, 7}) {
    const GroupEnding ending = run({"wait", text("end=", status)});
    EXPECT_EQ(ending.raw_status, status);
    EXPECT_EQ(ending.first_rank, 1);
    EXPECT_EQ(ending.message, text("rank 1 ended with exit status ", status, " while starting"));
  }
}

TEST_F(RunRanks, CallsAStatusThatIsNoneOfOursUnexpected) {
  EXPECT_EQ(run({"end=77"}).exit, Exit::unexpected);
}

TEST_F(RunRanks, LooksForTheCauseBehindARankThatOnlyLostItsPeers) {
  const GroupEnding ending = run({"echo=8", "cause=3"});
  EXPECT_EQ(ending.exit, Exit::data);
  EXPECT_EQ(ending.first_rank, 1);
}

TEST_F(RunRanks, TakesALostPeerForTheCauseWhenThereIsNoOther) {
  const GroupEnding ending = run({"wait", "end=8"});
  EXPECT_EQ(ending.exit, Exit::rank_lost);
  EXPECT_EQ(ending.first_rank, 1);
}

TEST_F(RunRanks, KillsTheOthersWhenTheGraceIsOver) {
  LaunchOptions options = acting(logs(), {"echo=6", "stubborn"});
  options.grace_seconds = 0.05;
  const GroupEnding ending = run_ranks(plan_for(2), options);
  EXPECT_EQ(ending.exit, Exit::numerics);
  EXPECT_THAT(launcher_log(), HasSubstr("rank 1 was killed by SIGKILL"));
}

TEST_F(RunRanks, LetsTheOthersGoOnWhenOneIsDone) {
  LaunchOptions options = acting(logs(), {"end=0", "late=0"});
  options.grace_seconds = 0.01;
  EXPECT_EQ(run_ranks(plan_for(2), options).exit, Exit::done);
  EXPECT_THAT(launcher_log(), Not(HasSubstr("killed")));
}

TEST_F(RunRanks, EndsWhatADeadRankHadStarted) {
  const GroupEnding ending = run({"parent"});
  EXPECT_EQ(ending.message, "rank 0 was killed by SIGKILL while computing step 7");
  const std::string log = log_of(0);
  ASSERT_THAT(log, StartsWith("child "));
  EXPECT_TRUE(ends_within(std::stoi(log.substr(6)), 2));
}

TEST_F(RunRanks, WritesStartsAndEndingsToTheLaunchersLog) {
  run({"echo=0", "cause=4"});
  const std::string log = launcher_log();
  EXPECT_THAT(log, HasSubstr(text(" rank 0 of 2 starts on ", host_name(), "\n")));
  EXPECT_THAT(log, HasSubstr(" rank 0 is done\n"));
  EXPECT_THAT(log, HasSubstr(" rank 1 ended with exit status 4 while computing step 1\n"));
  EXPECT_THAT(log, HasSubstr("generation 0 ended with status 4: rank 1 ended with"));
}

/// Ranks that hang are ended by hand after a second and more.
class HangingRanks : public RunRanks {
 protected:
  GroupEnding run(const std::vector<std::string>& acts) {
    LaunchOptions options = acting(logs(), acts);
    options.hang.fixed = 0.4;
    options.generation = 2;
    return run_ranks(plan_for(static_cast<int>(acts.size())), options);
  }
  std::string hang_file() const { return read_text(logs() / "hang-2.txt"); }
};

TEST_F(HangingRanks, AreNamedAskedForTheirStacksAndEnded) {
  const GroupEnding ending = run({"working", "hang"});
  EXPECT_EQ(ending.exit, Exit::rank_lost);
  EXPECT_EQ(ending.raw_status, 8);
  EXPECT_EQ(ending.first_rank, 1);
  EXPECT_THAT(ending.message, StartsWith("rank 1 hangs: no heartbeat for "));
  EXPECT_THAT(ending.message, HasSubstr("while computing step 33"));
  EXPECT_THAT(ending.message, EndsWith("its process is sleeping"));
  EXPECT_THAT(log_of(0), HasSubstr("stack"));
  EXPECT_THAT(log_of(1), HasSubstr("stack"));
  EXPECT_THAT(hang_file(), StartsWith(ending.message));
  EXPECT_THAT(launcher_log(), HasSubstr("generation 2 ended with status 8: rank 1 hangs"));
  EXPECT_TRUE(ending.is_worth_a_restart());
}

TEST_F(HangingRanks, MayHaveBeenStoppedByASignal) {
  const GroupEnding ending = run({"freeze", "working"});
  EXPECT_EQ(ending.exit, Exit::rank_lost);
  EXPECT_EQ(ending.first_rank, 0);
  EXPECT_THAT(ending.message, HasSubstr("its process is stopped by a signal"));
  EXPECT_THAT(log_of(0), HasSubstr("stack")) << "it is woken to write its stacks";
}

TEST_F(RunRanks, RefusesALogFolderThatCannotBe) {
  LaunchOptions options = acting("/dev/null/log", {"end=0"});
  EXPECT_THROW(run_ranks(plan_for(1), options), Error);
}

TEST_F(RunRanks, SaysWhichProgramCannotBeStarted) {
  LaunchOptions options = acting(logs(), {"end=0"});
  options.program = "/no/such/program";
  try {
    run_ranks(plan_for(1), options);
    FAIL() << "started nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), HasSubstr("/no/such/program"));
  }
}

/// The launcher as a process of its own, so that it can be killed, signalled and listened to.
class Launcher : public RunRanks {
 protected:
  Process start(std::vector<std::string> acts) {
    ProcessOptions options;
    options.program = own_program();
    options.arguments = {"--launcher", logs().string()};
    options.arguments.insert(options.arguments.end(), acts.begin(), acts.end());
    const int console = open(console_file().c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    options.standard_out = options.standard_error = console;
    Process launcher = Process::start(options);
    close(console);
    return launcher;
  }
  std::filesystem::path console_file() const { return logs().parent_path() / "console.txt"; }
  /// The process of a rank, once it is ready.
  int ready(int rank) {
    const std::string log = wait_for_words(logs() / text("rank-", rank, ".log"), "ready ");
    return log.empty() ? -1 : std::stoi(log.substr(6));
  }
};

TEST_F(Launcher, TakesItsRanksWithItWhenItIsKilled) {
  Process launcher = start({"wait", "stubborn"});
  const int first = ready(0), second = ready(1);
  launcher.send(SIGKILL);
  EXPECT_EQ(launcher.wait().signal, SIGKILL);
  EXPECT_TRUE(ends_within(first, 2));
  EXPECT_TRUE(ends_within(second, 2));
}

TEST_F(Launcher, PassesTheFirstSignalOnAndEndsAsStopped) {
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    std::filesystem::remove_all(logs());
    Process launcher = start({"wait", "saving"});
    ready(0), ready(1);
    launcher.send(signal);
    EXPECT_EQ(launcher.wait().status, 75);
    EXPECT_THAT(launcher_log(), HasSubstr(text("stopped by ", signal_name(signal))));
  }
}

TEST_F(Launcher, EndsEverythingAtASecondSignal) {
  Process launcher = start({"stubborn", "stubborn"});
  const int first = ready(0), second = ready(1);
  launcher.send(SIGINT);
  wait_for_words(logs() / "launcher.log", "passed on");
  launcher.send(SIGTERM);
  EXPECT_EQ(launcher.wait().status, 128 + SIGTERM);
  EXPECT_TRUE(ends_within(first, 2));
  EXPECT_TRUE(ends_within(second, 2));
}

TEST_F(Launcher, EndsWithTheSignalWhenARankWasNotReadyForIt) {
  Process launcher = start({"wait", "unready"});
  ready(0), ready(1);
  launcher.send(SIGINT);
  EXPECT_EQ(launcher.wait().status, 128 + SIGINT);
  EXPECT_THAT(launcher_log(), HasSubstr("ended by SIGINT while the ranks were starting"));
}

TEST_F(Launcher, HearsATerminalsSignalOnceThoughItsRanksShareTheTerminal) {
  Process launcher = start({"wait", "wait"});
  const int rank = ready(0);
  ready(1);
  // A terminal signals the group it has in front; ours holds this test too, so look at the groups instead.
  EXPECT_EQ(getpgid(rank), rank);
  EXPECT_NE(getpgid(rank), getpgid(launcher.id()));
  launcher.send(SIGTERM);
  EXPECT_EQ(launcher.wait().status, 75);
}

TEST_F(Launcher, LetsRankZeroAloneSpeakToPeople) {
  EXPECT_TRUE(start({"say", "say"}).wait().ok());
  EXPECT_EQ(read_text(console_file()), "for the console from rank 0\nfor stderr from rank 0\n");
  EXPECT_EQ(log_of(0), "stdout of rank 0\nstderr of rank 0\n");
  EXPECT_EQ(log_of(1), "stdout of rank 1\nstderr of rank 1\n");
}

}  // namespace
}  // namespace larmor
