#include "larmor/run/standing/run_standing.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "larmor/base/files/fenced_storage.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"

namespace larmor::testing {
namespace {

namespace fs = std::filesystem;

class RunStandingTest : public ::testing::Test {
 protected:
  RunStandingTest() {
    disk_.create_folders(folder_.root);
    write_text(disk_, folder_.config(), "run: {}\n");
    write_text(disk_, folder_.environment(), R"({"job": "slurm 12.0", "steps": 40})");
  }

  void log(const std::string& kind, int64_t step, int64_t generation = 0) {
    log_ +=
        Json{{"t", 1000 + step}, {"generation", generation}, {"step", step}, {"kind", kind}}.dump() + "\n";
    write_text(disk_, folder_.events(), log_);
  }
  void log_words(const std::string& words) {
    log_ += words;
    write_text(disk_, folder_.events(), log_);
  }
  std::string state() const { return standing_of(folder_).state; }
  /// As a start on another host leaves it that works there, or was killed there.
  void put_heartbeat_of_elsewhere() {
    write_text(disk_, folder_.lock(), "process 12 on elsewhere\n");
    write_text(disk_, folder_.root / ".heartbeat", "");
  }

  ScratchFolder scratch_;
  DiskStorage disk_;
  RunFolder folder_{scratch_.path() / "runs" / "a"};

 private:
  std::string log_;
};

TEST_F(RunStandingTest, IsOfTheLastStartThatHasLogged) {
  EXPECT_EQ(state(), "interrupted") << "a run that has logged nothing";
  log("start", 0);
  log("step", 1);
  log("step", 2);
  EXPECT_EQ(state(), "interrupted");
  log("checkpoint", 1);
  log("end", 2);
  log("warning", 0);
  log_words("{\"t\": 1, torn");
  const auto stopped = standing_of(folder_);
  EXPECT_EQ(stopped.state, "stopped");
  EXPECT_EQ(stopped.step, 2);
  EXPECT_EQ(stopped.steps, 40);
  EXPECT_EQ(stopped.last_logged, 1000);
  EXPECT_EQ(stopped.job, "slurm 12.0");
  log_words("\n");
  log("start", 2, 1);
  log("step", 3, 1);
  EXPECT_EQ(state(), "interrupted") << "the end is of the start before";
  EXPECT_EQ(standing_of(folder_).step, 3);
}

TEST_F(RunStandingTest, KnowsOfAStartThatEndedBeforeItHadLoggedAnything) {
  log("end", 2);
  raise_fence(disk_, folder_.generation_file(), 0);
  EXPECT_EQ(state(), "stopped");
  raise_fence(disk_, folder_.generation_file(), 1);
  EXPECT_EQ(state(), "interrupted");
}

TEST_F(RunStandingTest, IsTrainingWhileItsLockIsHeldAndNoLonger) {
  log("step", 1);
  mark_ended(disk_, ManualClock(), folder_, 8, "rank 1 was killed");
  EXPECT_EQ(state(), "failed");
  {
    const FileLock start(folder_.lock());
    const auto standing = standing_of(folder_);
    EXPECT_EQ(standing.state, "training") << "it goes on after a failure";
    EXPECT_TRUE(standing.holder.starts_with("process "));
  }
  EXPECT_EQ(state(), "failed");
  write_text(disk_, folder_.root / ".heartbeat", "");
  EXPECT_EQ(state(), "failed") << "the lock of a start on this host is seen";
  mark_ended(disk_, ManualClock(), folder_, 0, "length reached");
  const FileLock pruning(folder_.lock());
  EXPECT_EQ(state(), "done");
  EXPECT_EQ(standing_of(folder_).holder, "");
}

TEST_F(RunStandingTest, IsTrainingOnAnotherHostWhileThatShowsAHeartbeat) {
  log("step", 1);
  put_heartbeat_of_elsewhere();
  EXPECT_EQ(state(), "training");
  EXPECT_EQ(standing_of(folder_).holder, "process 12 on elsewhere");
  fs::last_write_time(folder_.root / ".heartbeat",
                      fs::file_time_type::clock::now() - std::chrono::minutes(2));
  EXPECT_EQ(state(), "interrupted");
}

TEST_F(RunStandingTest, ReadsTheEndOfALogAlone) {
  log_words(std::string(1'000'000, 'x') + "\n");
  log("step", 7);
  EXPECT_EQ(standing_of(folder_).step, 7);
  log_words(std::string(1'000'000, 'x'));
  EXPECT_EQ(standing_of(folder_).step, std::nullopt) << "nothing that can be read";
}

TEST_F(RunStandingTest, SaysWhatItCanOfARunThatHasLostItsFiles) {
  fs::remove(folder_.environment());
  const auto standing = standing_of(folder_);
  EXPECT_EQ(standing.state, "interrupted");
  EXPECT_EQ(standing.steps, std::nullopt);
  EXPECT_EQ(standing.job, "");
}

}  // namespace
}  // namespace larmor::testing
