// A real SLURM starts us: ranks of srun, and jobs of the files that `larmor job slurm` writes.
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/text.h"

#include "tests/processes/support/nifti_bytes.h"
#include "tests/processes/support/slurm_cluster.h"
#include "tests/processes/support/toy_program.h"
#include "tests/processes/support/two_ranks.h"

namespace larmor::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr int usage = 2, stopped = 75;

class Slurm : public TwoRanks {
 protected:
  static void SetUpTestSuite() {
    if (SlurmCluster::obstacle().empty()) cluster_.emplace();
  }
  static void TearDownTestSuite() {
    cluster_.reset();
    TwoRanks::TearDownTestSuite();
  }
  void SetUp() override {
    if (const auto reason = SlurmCluster::obstacle(); !reason.empty()) GTEST_SKIP() << reason;
  }

  static SlurmCluster& cluster() { return *cluster_; }
  ProgramOptions here() const { return {.folder = folder(), .environment = {{"OMP_NUM_THREADS", "1"}}}; }
  /// srun of those words of `larmor`.
  Running srun(const Words& flags, const Words& larmor_words) const {
    return cluster().start("srun", flags + command(larmor_words), here());
  }
  /// Writes a file for that training and gives it to sbatch. The job's id.
  std::string submit(const Words& train_words, const Words& flags) const {
    const auto file = (folder() / "job.sh").string();
    const Words words_of_job(train_words.begin() + 1, train_words.end());
    const auto written =
        larmor_program(Words{"job", "slurm"} + words_of_job + flags + Words{"--output", file}, here());
    EXPECT_EQ(written.status, 0) << written.err;
    const auto submitted = cluster().call("sbatch", {"--parsable", file}, here());
    EXPECT_EQ(submitted.status, 0) << submitted.err;
    return std::string(trim(submitted.out));
  }
  std::string log_of(const std::string& job) const {
    return read_text(folder() / ("larmor-" + job + ".log"));
  }

 private:
  static inline std::optional<SlurmCluster> cluster_;
};

const Words two_nodes{"--nodes=2", "--ntasks-per-node=1"};

TEST_F(Slurm, TwoTasksOfSrunTrainAsOurOwnLauncherDoes) {
  const auto end = srun(two_nodes, words("by_srun")).wait();
  ASSERT_EQ(end.status, 0) << end.err;
  EXPECT_EQ(trained_state(run("by_srun")), own());
}

TEST_F(Slurm, AStepThatIsAskedToStopGoesOnLater) {
  auto first = srun(Words{"--nodes=1", "--ntasks=2"}, words("stopped"));
  ASSERT_TRUE(reaches_step(run("stopped"), 6)) << first.err();
  ASSERT_EQ(cluster().call("scancel", {"--signal=USR1", std::string(trim(cluster().jobs()))}).status, 0);
  EXPECT_EQ(first.wait().status, stopped) << first.err();
  const auto second = srun(two_nodes, {"train", "stopped"}).wait();
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(generations_of(run("stopped")), ElementsAre(0, 1));
  EXPECT_EQ(trained_state(run("stopped")), own());
}

TEST_F(Slurm, VariablesThatContradictTheStepAreRefusedInEveryTask) {
  auto options = here();
  options.environment["RANK"] = "0";
  options.environment["WORLD_SIZE"] = "4";
  options.environment["LOCAL_RANK"] = "0";
  options.environment["MASTER_ADDR"] = "127.0.0.1";
  options.environment["MASTER_PORT"] = "29400";
  const auto end = cluster().call("srun", Words{"--nodes=1", "--ntasks=2"} + command(words("torn")), options);
  EXPECT_EQ(end.status, usage) << end.err;
  EXPECT_THAT(end.err, AllOf(HasSubstr("RANK=0"), HasSubstr("SLURM_PROCID=1"), HasSubstr("WORLD_SIZE=4"),
                             HasSubstr("SLURM_STEP_NUM_TASKS=2")));
  EXPECT_FALSE(std::filesystem::exists(run("torn")));
}

TEST_F(Slurm, AJobThatIsStoppedGoesBackIntoTheQueueAndFinishes) {
  const auto job = submit(words("requeued"), {"--nodes", "2", "--cpus-per-task", "1", "--time", "10"});
  ASSERT_TRUE(reaches_step(run("requeued"), 6)) << log_of(job);
  // What SLURM does by itself at a time before the limit.
  ASSERT_EQ(cluster().call("scancel", {"--signal=USR1", job}).status, 0);
  const auto done = [&] { return std::filesystem::exists(run("requeued") / "DONE"); };
  ASSERT_TRUE(becomes_true(done, /*seconds=*/120)) << log_of(job);
  EXPECT_TRUE(becomes_true([&] { return cluster().state_of(job) == "COMPLETED"; }, /*seconds=*/20))
      << cluster().state_of(job);
  EXPECT_THAT(generations_of(run("requeued")), ElementsAre(0, 1));
  EXPECT_EQ(trained_state(run("requeued")), own());
}

TEST_F(Slurm, AJobOfAllStagesGoesOnInEachThoughTheEarlierRunIsGone) {
  const auto words_of = [](const std::string& name) {
    return Words{"toy",
                 "--stage",
                 "all",
                 "-c",
                 "tiny",
                 "--ranks",
                 "2",
                 "run.name=" + name,
                 "train.length=60st",
                 "train.validate_every=10st",
                 "checkpoint.every=10st",
                 "optim.schedule.warmup=0"};
  };
  auto options = here();
  options.program = toy_program();
  const auto written = larmor_program(Words{"job", "slurm"} + words_of("toys") +
                                          Words{"--nodes", "2", "--cpus-per-task", "1", "--time", "10"},
                                      options);
  ASSERT_EQ(written.status, 0) << written.err;
  // Runs are slow in their first generation, so that they can be stopped in their midst.
  auto script = written.out;
  const auto place = script.find("cd ");
  ASSERT_NE(place, std::string::npos);
  script.insert(place, "export LARMOR_FAULT='rank=0 phase=computing step=3 do=slow'\n");
  put_file(folder() / "job.sh", script);
  const auto submitted = cluster().call("sbatch", {"--parsable", (folder() / "job.sh").string()}, here());
  ASSERT_EQ(submitted.status, 0) << submitted.err;
  const std::string job(trim(submitted.out));
  constexpr double seconds = 120;
  ASSERT_TRUE(reaches_step(run("toys-coder"), 4, seconds)) << log_of(job);
  ASSERT_EQ(cluster().call("scancel", {"--signal=USR1", job}).status, 0);
  ASSERT_TRUE(reaches_step(run("toys-refiner"), 4, seconds)) << log_of(job);
  EXPECT_THAT(generations_of(run("toys-coder")), ElementsAre(0, 1));
  std::filesystem::remove_all(run("toys-coder"));
  ASSERT_EQ(cluster().call("scancel", {"--signal=USR1", job}).status, 0);
  ASSERT_TRUE(becomes_true([&] { return cluster().state_of(job) == "COMPLETED"; }, seconds)) << log_of(job);
  EXPECT_THAT(generations_of(run("toys-refiner")), ElementsAre(0, 1));
  EXPECT_FALSE(std::filesystem::exists(run("toys-coder"))) << "nothing is trained twice";
  const auto one = larmor_program(Words{"train"} + words_of("one"), options);
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(trained_state(run("toys-refiner")), trained_state(run("one-refiner")));
}

TEST_F(Slurm, AJobThatFailsIsNotStartedAgain) {
  auto without_data = words("unwilling");
  std::erase_if(without_data, [](const std::string& word) { return word.starts_with("data.phantom"); });
  const auto job = submit(without_data + Words{"data.kind=nifti", "data.folder=/nowhere"},
                          {"--nodes", "2", "--cpus-per-task", "1", "--time", "10"});
  ASSERT_TRUE(becomes_true([&] { return cluster().state_of(job) == "FAILED"; }, /*seconds=*/60))
      << cluster().state_of(job) << log_of(job);
  EXPECT_THAT(log_of(job), HasSubstr("/nowhere"));
}

TEST_F(Slurm, OurLauncherTwiceOnANodeIsRefused) {
  const auto end = srun(Words{"--nodes=1", "--ntasks=2"}, words("twice") + Words{"--nnodes", "auto"}).wait();
  EXPECT_EQ(end.status, usage) << end.err;
  EXPECT_THAT(end.err, HasSubstr("--ntasks-per-node=1"));
}

}  // namespace
}  // namespace larmor::testing
