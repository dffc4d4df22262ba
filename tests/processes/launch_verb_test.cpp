// `larmor launch -- CMD`: any program as ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/program_run.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LaunchVerb : public ::testing::Test {
 protected:
  /// `flags` of launch, then a shell's script.
  Finished launch(std::vector<std::string> flags, const std::string& script) const {
    flags.insert(flags.begin(), "launch");
    flags.insert(flags.end(), {"--", "sh", "-c", script});
    return larmor_program(flags, {.folder = scratch_.path()});
  }
  std::string log(const std::string& name) const { return read_text(scratch_.path() / "larmor-log" / name); }

  ScratchFolder scratch_;
};

TEST_F(LaunchVerb, TellsEveryRankWhoItIsAsTorchrunDoes) {
  const auto end = launch({"--ranks", "2"},
                          "echo I am $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE at "
                          "$MASTER_ADDR, $OMP_NUM_THREADS thread");
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(end.out, "I am 0 of 2, 0 of 2 at 127.0.0.1, 1 thread\n") << "rank 0 speaks to the person";
  EXPECT_EQ(log("rank-1.log"), "I am 1 of 2, 1 of 2 at 127.0.0.1, 1 thread\n");
}

TEST_F(LaunchVerb, KeepsAStoreWhereTheRanksMeet) {
  const auto end =
      launch({"--ranks", "1"},
             "echo $TORCHELASTIC_USE_AGENT_STORE; bash -c 'exec 3<>/dev/tcp/127.0.0.1/'$MASTER_PORT");
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(end.out, "True\n");
}

TEST_F(LaunchVerb, PassesOnTheStatusOfTheRankThatFailedFirst) {
  const auto end =
      launch({"--ranks", "2"}, "if [ $RANK = 1 ]; then echo no such luck; exit 42; fi; sleep 60");
  EXPECT_EQ(end.status, 42) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("rank 1 ended with exit status 42"), HasSubstr("no such luck")));
}

TEST_F(LaunchVerb, HearsTheStatusOfARankWhereItsStarterIgnoresChildren) {
  const auto end = larmor_program(
      {"-c", "trap '' CHLD; exec $LARMOR_PROGRAM launch --ranks 2 -- sh -c 'exit $((42 * RANK))'"},
      {.folder = scratch_.path(), .program = "/bin/sh"});
  EXPECT_EQ(end.status, 42) << end.err;
  EXPECT_THAT(end.err, HasSubstr("rank 1 ended with exit status 42"));
}

TEST_F(LaunchVerb, StartsAllRanksAgain) {
  const auto end = launch({"--ranks", "2", "--max-restarts", "2"},
                          "echo start $TORCHELASTIC_RESTART_COUNT; "
                          "if [ $RANK$TORCHELASTIC_RESTART_COUNT = 10 ]; then exit 3; fi");
  EXPECT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(log("rank-1.log"), "start 0\nstart 1\n");
}

TEST_F(LaunchVerb, EndsWhatTheProgramHasStarted) {
  const auto end = launch({"--ranks", "2"},
                          "if [ $RANK = 1 ]; then sleep 0.2; exit 5; fi; "
                          "sleep 71.5 & echo $! > started; wait");
  EXPECT_EQ(end.status, 5) << end.err;
  const int started = std::stoi(read_text(scratch_.path() / "started"));
  EXPECT_TRUE(becomes_true([&] { return is_over(started); }, 5));
}

TEST_F(LaunchVerb, AsksNobodyAtTheTerminal) {
  const std::string program = "if read answer; then echo heard $answer; else echo nobody there; fi";
  const auto end =
      larmor_program({"-c", text("echo yes | $LARMOR_PROGRAM launch --ranks 1 -- sh -c '", program, "'")},
                     {.folder = scratch_.path(), .program = "/bin/sh"});
  EXPECT_EQ(end.out, "nobody there\n") << end.err;
}

TEST_F(LaunchVerb, LeavesTheProgramsOwnFlagsAlone) {
  const auto end = larmor_program({"launch", "--", "echo", "--batch_size", "3"}, {.folder = scratch_.path()});
  EXPECT_EQ(end.out, "--batch_size 3\n") << end.err;
}

TEST_F(LaunchVerb, RefusesAProgramThatIsNotThereAndOneThatNobodyNamed) {
  const auto absent = larmor_program({"launch", "--", "no-such-program"}, {.folder = scratch_.path()});
  EXPECT_EQ(absent.status, 2);
  EXPECT_THAT(absent.err, HasSubstr("no program no-such-program in PATH"));
  EXPECT_EQ(larmor_program({"launch"}, {.folder = scratch_.path()}).status, 2);
  EXPECT_EQ(larmor_program({"list", "--", "x"}, {.folder = scratch_.path()}).status, 2);
}

}  // namespace
}  // namespace larmor::testing
