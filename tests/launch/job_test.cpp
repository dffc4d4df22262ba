#include "larmor/launch/job.h"

#include <chrono>
#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;

constexpr int64_t some_time = 1795297732;

const Environment in_slurm = {{"SLURM_JOB_ID", "1234"}};
const Environment in_step = {{"SLURM_JOB_ID", "1234"},
                             {"SLURM_STEP_ID", "2"},
                             {"SLURM_STEP_NUM_TASKS", "2"},
                             {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"},
                             {"SLURM_STEP_NODELIST", "n[1-2]"},
                             {"SLURM_PROCID", "1"},
                             {"SLURM_LOCALID", "0"},
                             {"SLURM_NODEID", "1"}};

Environment with(Environment all, const Environment& more) {
  for (const auto& [name, value] : more) all[name] = value;
  return all;
}

class FindJob : public ::testing::Test {
 protected:
  /// With a squeue of these lines in PATH.
  Environment with_squeue(const std::string& script) const {
    const auto file = folder_.path() / "squeue";
    std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return with(in_slurm, {{"PATH", "relative:/nowhere:" + folder_.path().string()}});
  }
  std::optional<int64_t> end_by(const std::string& script, double patience_seconds = 5) {
    return find_job(with_squeue(script), patience_seconds).ends_at;
  }

  ScratchFolder folder_;
};

TEST_F(FindJob, KnowsWhichJobsTheSchedulerWillStart) {
  const std::set<std::string> ids{"slurm 12.0", "slurm 13_7.2", "slurm 14", "torchrun none a:29500", ""};
  const auto squeue = with_squeue(R"([ "$3" = --states=PENDING ] && [ "$4" = --jobs=12,13_7,14 ] &&
printf '12\n13_7\n')");
  EXPECT_EQ(waiting_jobs(ids, squeue), (std::set<std::string>{"slurm 12.0", "slurm 13_7.2"}));
  EXPECT_TRUE(waiting_jobs({"torchrun none a:29500", ""}, with_squeue("echo 12")).empty());
  EXPECT_TRUE(waiting_jobs(ids, {{"PATH", "/nowhere"}}).empty());
  EXPECT_TRUE(waiting_jobs(ids, with_squeue("printf '12\n'; exit 1")).empty());
  EXPECT_TRUE(waiting_jobs(ids, with_squeue("sleep 30; echo 12"), /*patience_seconds=*/0.1).empty());
}

TEST_F(FindJob, SaysNothingOutsideOfAJob) {
  const auto job = find_job({{"HOME", "/root"}});
  EXPECT_EQ(job.id, "");
  EXPECT_EQ(job.restarts, 0);
  EXPECT_FALSE(job.ends_at);
}

TEST_F(FindJob, NamesJobsOfSlurmSoThatARequeueHasTheSameName) {
  EXPECT_EQ(find_job(in_slurm).id, "slurm 1234");
  EXPECT_EQ(find_job(in_step).id, "slurm 1234.2");
  const Environment array = {{"SLURM_ARRAY_JOB_ID", "1230"}, {"SLURM_ARRAY_TASK_ID", "7"}};
  EXPECT_EQ(find_job(with(in_slurm, array)).id, "slurm 1230_7");
  EXPECT_EQ(find_job(with(in_step, array)).id, "slurm 1230_7.2");
  EXPECT_EQ(find_job({{"SLURM_JOB_ID", "12;id"}}).id, "");
  EXPECT_EQ(find_job({{"SLURM_JOB_ID", ""}}).id, "");
}

TEST_F(FindJob, NamesTorchrunByItsRunAndItsMaster) {
  const Environment torchrun = {
      {"TORCHELASTIC_RUN_ID", "none"}, {"MASTER_ADDR", "node-a"}, {"MASTER_PORT", "29500"}};
  EXPECT_EQ(find_job(torchrun).id, "torchrun none node-a:29500");
  EXPECT_EQ(find_job(with(torchrun, in_slurm)).id, "slurm 1234") << "a requeue may bring other hosts";
}

TEST_F(FindJob, CountsTheRestartsOfBoth) {
  EXPECT_EQ(find_job(with(in_slurm, {{"SLURM_RESTART_COUNT", "2"}})).restarts, 2);
  EXPECT_EQ(find_job({{"TORCHELASTIC_RESTART_COUNT", "1"}}).restarts, 1);
  EXPECT_EQ(
      find_job(with(in_slurm, {{"SLURM_RESTART_COUNT", "2"}, {"TORCHELASTIC_RESTART_COUNT", "1"}})).restarts,
      3);
  EXPECT_THROW(find_job(with(in_slurm, {{"SLURM_RESTART_COUNT", "often"}})), Error);
}

TEST_F(FindJob, TakesTheEndThatTheEnvironmentTells) {
  EXPECT_EQ(find_job(with(in_slurm, {{"SLURM_JOB_END_TIME", "1795297732"}})).ends_at, some_time);
  EXPECT_FALSE(find_job({{"SLURM_JOB_END_TIME", "1795297732"}}).ends_at) << "without a job it is a stray";
}

TEST_F(FindJob, AsksTheSchedulerForTheEnd) {
  EXPECT_EQ(end_by(R"([ "$*" = "--noheader --jobs=1234 --format=%e" ] && [ "$SLURM_TIME_FORMAT" = %s ] &&
echo 1795297732)"),
            some_time);
  EXPECT_EQ(end_by("echo 1795297732; echo more"), some_time);
}

TEST_F(FindJob, TakesNoAnswerOnTrust) {
  for (const auto* script : {"echo NONE", "echo N/A", "echo", "exit 0", "echo 1795297732; exit 1", "echo 17x",
                             "echo 2026-11-21T22:00:00", "kill -9 $$", "echo -5", "echo 99999999999999999999",
                             "head -c 300 /dev/zero", "exec /nonexistent"}) {
    EXPECT_FALSE(end_by(script)) << script;
  }
  EXPECT_FALSE(find_job(with(in_slurm, {{"PATH", ":/nowhere"}})).ends_at);
}

TEST_F(FindJob, WaitsNoLongerForTheSchedulerThanItMay) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(end_by("yes", 0.3));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_GT(taken.count(), 0.2);
  EXPECT_LT(taken.count(), 4);
}

TEST(FindNodes, FindsNoneOutsideOfAStep) {
  EXPECT_FALSE(find_nodes({{"HOME", "/root"}}));
  EXPECT_FALSE(find_nodes({{"SLURM_JOB_ID", "1"}, {"SLURM_NNODES", "2"}, {"SLURM_NODEID", "0"}}));
}

TEST(FindNodes, ReadsOneTaskANode) {
  const auto place = find_nodes(in_step);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->nodes, 2);
  EXPECT_EQ(place->node, 1);
  EXPECT_EQ(place->master_address, "n1");
  EXPECT_EQ(place->master_port, find_rank(in_step)->master_port);
  const auto stated = find_nodes(with(in_step, {{"MASTER_ADDR", "n1-ib"}, {"MASTER_PORT", "4321"}}));
  EXPECT_EQ(stated->master_address, "n1-ib");
  EXPECT_EQ(stated->master_port, 4321);
}

TEST(FindNodes, IsOneNodeWhereSrunStartedOneTask) {
  const auto place = find_nodes(with(in_step, {{"SLURM_STEP_NUM_TASKS", "1"},
                                               {"SLURM_STEP_TASKS_PER_NODE", "1"},
                                               {"SLURM_STEP_NODELIST", "n1"},
                                               {"SLURM_PROCID", "0"},
                                               {"SLURM_NODEID", "0"}}));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->nodes, 1);
  EXPECT_EQ(place->node, 0);
}

TEST(FindNodes, RefusesTwoTasksOnANode) {
  try {
    find_nodes(with(in_step, {{"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_STEP_TASKS_PER_NODE", "2,1"}}));
    FAIL() << "two tasks on the first node";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), HasSubstr("2 tasks on a node"));
    EXPECT_THAT(error.hint(), HasSubstr("--ntasks-per-node=1"));
  }
}

}  // namespace
}  // namespace larmor
