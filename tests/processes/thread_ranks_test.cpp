// parallel.strategy=dp: one process whose threads are the ranks.
#include <csignal>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

using Words = std::vector<std::string>;
constexpr int unexpected = 1, usage = 2, environment = 4, rank_lost = 8, stopped = 75;

std::vector<std::string> thread_names(int process) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(text("/proc/", process, "/task")))
    names.emplace_back(trim(read_text(entry.path() / "comm")));
  return names;
}

class ThreadRanks : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { of_processes_.reset(); }

  std::filesystem::path folder() const { return scratch_.path(); }
  std::filesystem::path run(const std::string& name) const { return folder() / "runs" / name; }
  ProgramOptions here(const std::map<std::string, std::string>& more = {}) const {
    return {.folder = folder(), .environment = more};
  }
  static Words joined(Words words, const Words& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  /// Two threads.
  static Words words(const std::string& run, int steps = small_steps, const Words& more = {}) {
    return joined(small_training(run, 2, steps), joined({"parallel.strategy=dp"}, more));
  }
  Finished call(const Words& words, const std::map<std::string, std::string>& more = {}) const {
    return larmor_program(words, here(more));
  }
  std::string launcher_log(const std::string& name) const {
    return read_text(run(name) / "log" / "launcher.log");
  }

  /// What two processes end with; trained once a suite.
  static const TrainedState& of_processes() {
    if (of_processes_) return *of_processes_;
    const ScratchFolder scratch;
    const auto end = larmor_program(joined(small_training("ddp", 2), {"parallel.strategy=ddp"}),
                                    {.folder = scratch.path()});
    EXPECT_EQ(end.status, 0) << end.err;
    return of_processes_.emplace(trained_state(scratch.path() / "runs" / "ddp"));
  }

 private:
  ScratchFolder scratch_;
  static inline std::optional<TrainedState> of_processes_;
};

TEST_F(ThreadRanks, OfOneProcessEndInTheBitsOfTwoProcesses) {
  Running training(words("run"), here());
  ASSERT_TRUE(reaches_step(run("run"), 2)) << training.err();
  const auto processes = children_of(training.id());
  ASSERT_THAT(processes, SizeIs(1));
  EXPECT_THAT(thread_names(processes[0]), IsSupersetOf({"rank 0", "rank 1"}));
  const auto end = training.wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, HasSubstr("dp: each rank is a thread of one process"));
  EXPECT_EQ(trained_state(run("run")), of_processes());
  EXPECT_THAT(read_text(run("run") / "log" / "rank-0.log"),
              AllOf(HasSubstr("[rank 0] rank 0 of 2 on "), HasSubstr("[rank 1] rank 1 of 2 on ")));
  EXPECT_FALSE(std::filesystem::exists(run("run") / "log" / "rank-1.log"));
  EXPECT_THAT(launcher_log("run"), HasSubstr("ranks 0 to 1 of 2 start on "));
  EXPECT_EQ(call({"evaluate", "run"}).status, 0);
}

TEST_F(ThreadRanks, StopAtASignalAndGoOnToTheSameBits) {
  Running training(words("run"), here());
  ASSERT_TRUE(reaches_step(run("run"), 6)) << training.err();
  training.send(SIGTERM);
  const auto end = training.wait();
  EXPECT_EQ(end.status, stopped) << end.err;
  EXPECT_THAT(end.err, HasSubstr("stopped with a complete checkpoint; go on with: larmor train"));
  EXPECT_LT(newest_step(run("run")), small_steps);
  ASSERT_EQ(call({"train", "run"}).status, 0);
  EXPECT_EQ(trained_state(run("run")), of_processes());
}

TEST_F(ThreadRanks, GoOnAsProcessesAndTheseAsThreads) {
  ASSERT_EQ(call(words("run", small_steps, {"--steps", "7"})).status, 0);
  const auto as_processes = call({"train", "run", "parallel.strategy=ddp", "--steps", "15"});
  ASSERT_EQ(as_processes.status, 0) << as_processes.err;
  EXPECT_THAT(as_processes.err,
              HasSubstr("planned anew for 2 ranks by ddp; the run was started with 2 by dp"));
  const auto as_threads = call({"train", "run", "parallel.strategy=dp"});
  ASSERT_EQ(as_threads.status, 0) << as_threads.err;
  EXPECT_THAT(as_threads.err, HasSubstr("planned anew for 2 ranks by dp; the run was started with 2 by ddp"));
  EXPECT_EQ(trained_state(run("run")), of_processes());
}

TEST_F(ThreadRanks, OneOfWhichEndsTheProcessAreStartedAgain) {
  const std::map<std::string, std::string> fault{{"LARMOR_FAULT", "rank=1 phase=computing step=6 do=kill"}};
  const auto end = call(words("run", small_steps, {"--max-restarts", "1"}), fault);
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("the process of ranks 0 to 1 was killed by SIGKILL while "),
                             HasSubstr("restart 1 of 1"), Not(HasSubstr("the other ranks have"))));
  EXPECT_THAT(generations_of(run("run")), ElementsAre(0, 1));
  EXPECT_EQ(trained_state(run("run")), of_processes());
}

TEST_F(ThreadRanks, OneOfWhichLeavesWithoutAWordAreNamedTogether) {
  const auto end = call(words("run", small_steps, {"--max-restarts", "0"}),
                        {{"LARMOR_FAULT", "rank=1 phase=computing step=6 do=exit"}});
  EXPECT_EQ(end.status, unexpected) << end.err;
  EXPECT_THAT(end.err, HasSubstr("the process of ranks 0 to 1 ended with exit status 1 while "));
  EXPECT_THAT(read_text(run("run") / "FAILED"), HasSubstr("the process of ranks 0 to 1"));
}

TEST_F(ThreadRanks, OneOfWhichHangsIsNamed) {
  Running training(words("run", small_steps, {"parallel.hang_limit=4s", "--max-restarts", "0"}),
                   here({{"LARMOR_FAULT", "rank=1 phase=computing step=6 do=hang"}}));
  ASSERT_TRUE(training.ends_within(60));
  const auto end = training.wait();
  EXPECT_EQ(end.status, rank_lost) << end.err;
  EXPECT_THAT(end.err, HasSubstr("rank 1 hangs: no heartbeat for "));
  EXPECT_THAT(read_text(run("run") / "log" / "rank-0.log"), HasSubstr("\"rank 1\"")) << "its stack";
}

TEST_F(ThreadRanks, OneOfWhichFailsEndWithItsWordsAndItsStatus) {
  // Only rank 0 writes; the last save ends the run.
  const auto end = call(words("run"), {{"LARMOR_FAULT", "rank=0 phase=computing step=6 do=full_disk"}});
  EXPECT_EQ(end.status, environment) << end.err;
  EXPECT_THAT(end.err, HasSubstr("No space left on device"));
  EXPECT_THAT(read_text(run("run") / "log" / "rank-0.log"), HasSubstr("was the first that failed"));
}

TEST_F(ThreadRanks, CountBatchNormOverAllOfThemAsProcessesDo) {
  const Words cohort{"train",
                     "survival",
                     "data.kind=cohort",
                     "data.cohort_cases=12",
                     "data.transforms=[{Resize: {spatial_size: [8, 8, 8], mode: area}}]",
                     "model.depth=10",
                     "model.norm=batch",
                     "model.widen_factor=0.125",
                     "train.length=6st",
                     "train.global_batch=4",
                     "--ranks",
                     "2"};
  for (const std::string strategy : {"dp", "ddp"}) {
    const auto end = call(joined(cohort, {"run.name=" + strategy, "parallel.strategy=" + strategy}));
    ASSERT_EQ(end.status, 0) << end.err;
  }
  EXPECT_THAT(read_text(run("dp") / "plan.json"), HasSubstr("\"sync_batch_norm\": true"));
  EXPECT_EQ(trained_state(run("dp")), trained_state(run("ddp")));
}

TEST_F(ThreadRanks, AloneAreAProcessLikeAnyOther) {
  const auto end = call(joined(small_training("run", 1, 12), {"parallel.strategy=dp"}));
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_THAT(launcher_log("run"), HasSubstr("rank 0 of 1 starts on "));
}

TEST_F(ThreadRanks, AreRefusedWhereAnotherLauncherHasStartedProcesses) {
  const auto end = call(joined(with(small_training("run", 2), "parallel.strategy", "dp"), {}),
                        {{"RANK", "0"},
                         {"WORLD_SIZE", "2"},
                         {"LOCAL_RANK", "0"},
                         {"LOCAL_WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "127.0.0.1"},
                         {"MASTER_PORT", "29501"},
                         {"TORCHELASTIC_RUN_ID", "one"}});
  EXPECT_EQ(end.status, usage) << end.err;
  EXPECT_THAT(end.err,
              AllOf(HasSubstr("torchrun has started 2 processes"), HasSubstr("parallel.strategy=ddp")));
  EXPECT_FALSE(std::filesystem::exists(run("run")));
}

TEST_F(ThreadRanks, AreNoJobOfSeveralNodes) {
  const auto end = call({"job", "shell", "latent_diffusion", "-c", "tiny", "parallel.strategy=dp", "--nodes",
                         "2", "--master", "node1"});
  EXPECT_EQ(end.status, usage) << end.err;
  EXPECT_THAT(end.err, HasSubstr("parallel.strategy dp is one process, and --nodes asks for 2 hosts"));
}

TEST_F(ThreadRanks, AreNotTimedAsIfTheyWereProcesses) {
  const auto end =
      call({"bench", "step", "latent_diffusion", "-c", "tiny", "parallel.strategy=dp", "--ranks", "2"});
  EXPECT_EQ(end.status, usage) << end.err;
  EXPECT_THAT(end.err, HasSubstr("bench step times ranks that are processes"));
}

}  // namespace
}  // namespace larmor::testing
