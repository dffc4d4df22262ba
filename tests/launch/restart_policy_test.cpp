#include "larmor/launch/restart_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace larmor {
namespace {

using ::testing::HasSubstr;

GroupEnding lost_by(int rank) {
  GroupEnding ending;
  ending.exit = Exit::rank_lost;
  ending.raw_status = 8;
  ending.first_rank = rank;
  ending.message = "rank 1 was killed by SIGKILL";
  return ending;
}

/// On `ranks` GPUs of one host.
Plan plan_of(int ranks, int64_t global_batch = 12) {
  Plan plan;
  plan.device = DeviceKind::cuda;
  plan.strategy = Strategy::ddp;
  plan.global_batch = global_batch;
  for (int rank = 0; rank < ranks; ++rank) plan.ranks.push_back({.device = rank, .cores = {}});
  return plan;
}

const Plan& two_ranks() {
  static const Plan plan = plan_of(2);
  return plan;
}

GroupFacts committed(int64_t step) { return {.plan = two_ranks(), .committed_step = step}; }

/// What the policy says when the same rank fails for the second time in a row.
NextStart after_two_failures_of(int rank, const RestartLimits& limits, const Plan& plan) {
  RestartPolicy policy(limits, -1);
  EXPECT_EQ(policy.decide(lost_by(rank), {.plan = plan}).ranks, "") << "the first time may be chance";
  return policy.decide(lost_by(rank), {.plan = plan});
}

TEST(RestartPolicy, NeverRestartsUnlessItIsAllowed) {
  RestartPolicy policy({.most_restarts = 0}, -1);
  for (int failure = 0; failure < 5; ++failure) {
    const auto next = policy.decide(lost_by(1), committed(failure));
    EXPECT_FALSE(next.again);
    EXPECT_EQ(next.ending.exit, Exit::rank_lost);
    EXPECT_EQ(next.ending.message, "rank 1 was killed by SIGKILL");
  }
}

TEST(RestartPolicy, RestartsAtOnceWhileTheRunMovesOnUntilTheBudgetIsSpent) {
  RestartPolicy policy({.most_restarts = 4}, 10);
  for (int failure = 1; failure <= 4; ++failure) {
    const auto next = policy.decide(lost_by(1), committed(10 + failure));
    EXPECT_TRUE(next.again);
    EXPECT_EQ(next.wait_seconds, 0);
    EXPECT_EQ(policy.restarts(), failure);
  }
  const auto next = policy.decide(lost_by(1), committed(20));
  EXPECT_FALSE(next.again);
  EXPECT_EQ(next.ending.exit, Exit::rank_lost);
  EXPECT_EQ(next.ending.raw_status, 8);
  EXPECT_EQ(next.ending.message, "rank 1 was killed by SIGKILL (after 4 restarts)");
}

TEST(RestartPolicy, CountsOneRestartInTheSingular) {
  RestartPolicy policy({.most_restarts = 1}, -1);
  EXPECT_TRUE(policy.decide(lost_by(0), committed(5)).again);
  EXPECT_THAT(policy.decide(lost_by(0), committed(6)).ending.message, HasSubstr("(after 1 restart)"));
}

TEST(RestartPolicy, EndsAfterThreeStartsThatCommitNothing) {
  for (const int64_t step : {-1, 0, 120}) {
    RestartPolicy policy({.most_restarts = 100}, step);
    EXPECT_TRUE(policy.decide(lost_by(1), committed(step)).again);
    EXPECT_TRUE(policy.decide(lost_by(1), committed(step)).again);
    const auto next = policy.decide(lost_by(1), committed(step));
    EXPECT_FALSE(next.again);
    EXPECT_EQ(next.ending.exit, Exit::no_progress);
    EXPECT_EQ(next.ending.raw_status, 9);
    EXPECT_EQ(next.ending.first_rank, 1);
    EXPECT_EQ(next.ending.message,
              "no checkpoint was committed in the last 3 starts; the last one: rank 1 was killed by SIGKILL");
  }
}

TEST(RestartPolicy, StartsAGroupAgainThatHasCommittedSomethingWhereNobodyHasSaidHowOften) {
  const RestartLimits usual{.most_restarts = 3, .asks_for_progress = true};
  RestartPolicy policy(usual, 10);
  EXPECT_TRUE(policy.decide(lost_by(1), committed(12)).again);
  const auto met_again = policy.decide(lost_by(1), committed(12));
  EXPECT_FALSE(met_again.again) << "the fault came again at the same place";
  EXPECT_EQ(met_again.ending.exit, Exit::rank_lost);
  EXPECT_EQ(met_again.ending.message, "rank 1 was killed by SIGKILL (after 1 restart)");

  for (const int64_t step : {-1, 10}) {
    const auto at_once = RestartPolicy(usual, step).decide(lost_by(1), committed(step));
    EXPECT_FALSE(at_once.again);
    EXPECT_EQ(at_once.ending.message, "rank 1 was killed by SIGKILL");
  }

  RestartPolicy of_many(usual, -1);
  for (int64_t step = 0; step < 3; ++step) EXPECT_TRUE(of_many.decide(lost_by(1), committed(step)).again);
  EXPECT_FALSE(of_many.decide(lost_by(1), committed(3)).again) << "a few, and no more";
}

TEST(RestartPolicy, WaitsLongerWhileNothingIsCommittedAndForgetsItAtTheFirstStepOn) {
  RestartPolicy policy({.most_restarts = 100}, -1);
  EXPECT_EQ(policy.decide(lost_by(1), committed(-1)).wait_seconds, 0);
  EXPECT_EQ(policy.decide(lost_by(1), committed(-1)).wait_seconds, 1);
  EXPECT_EQ(policy.decide(lost_by(1), committed(3)).wait_seconds, 0);
  EXPECT_EQ(policy.decide(lost_by(1), committed(3)).wait_seconds, 0);
  EXPECT_EQ(policy.decide(lost_by(1), committed(3)).wait_seconds, 1);
  EXPECT_FALSE(policy.decide(lost_by(1), committed(3)).again);
}

TEST(RestartPolicy, TakesAnOlderCheckpointForNoProgress) {
  RestartPolicy policy({.most_restarts = 100}, 50);
  EXPECT_TRUE(policy.decide(lost_by(1), committed(40)).again);
  EXPECT_TRUE(policy.decide(lost_by(1), committed(50)).again);
  EXPECT_EQ(policy.decide(lost_by(1), committed(45)).ending.exit, Exit::no_progress);
}

TEST(RestartPolicy, LeavesOutARankThatFailsTwiceInARowWithoutProgressWhereThatIsAllowed) {
  EXPECT_EQ(after_two_failures_of(1, {.most_restarts = 9, .least_ranks = 1}, plan_of(4)).ranks, "0,2,3");
  EXPECT_EQ(after_two_failures_of(0, {.most_restarts = 9, .least_ranks = 1}, plan_of(2)).ranks, "1,");
  EXPECT_EQ(after_two_failures_of(0, {.most_restarts = 9, .least_ranks = 0}, plan_of(2)).ranks, "");

  RestartPolicy policy({.most_restarts = 9, .least_ranks = 1}, -1);
  policy.decide(lost_by(1), committed(-1));
  EXPECT_EQ(policy.decide(lost_by(1), committed(5)).ranks, "") << "the run has moved on";
  EXPECT_EQ(policy.decide(lost_by(0), committed(5)).ranks, "") << "another rank";
  EXPECT_EQ(policy.decide(lost_by(0), committed(5)).ranks, "1,");
}

TEST(RestartPolicy, GoesOnWithACountWhereTheFailedRanksDeviceIsUnknownOrTheBatchAllowsFewer) {
  const RestartLimits limits{.most_restarts = 9, .least_ranks = 1};
  Plan on_cpu = plan_of(2);
  on_cpu.device = DeviceKind::cpu;
  EXPECT_EQ(after_two_failures_of(1, limits, on_cpu).ranks, "1");
  Plan threads = plan_of(4);
  threads.strategy = Strategy::dp;
  EXPECT_EQ(after_two_failures_of(1, limits, threads).ranks, "3");
  EXPECT_EQ(after_two_failures_of(1, limits, plan_of(4, /*global_batch=*/8)).ranks, "2");
}

TEST(RestartPolicy, EndsWhereFewerRanksAreLeftThanAreAllowed) {
  const auto next = after_two_failures_of(1, {.most_restarts = 9, .least_ranks = 2}, plan_of(2));
  EXPECT_FALSE(next.again);
  EXPECT_EQ(next.ending.exit, Exit::rank_lost);
}

TEST(RestartPolicy, GoesOnAtOnceWithoutAGpuThatIsNotThereAnyMore) {
  const GroupFacts facts{.plan = two_ranks(), .devices_left = std::vector<int>{0}};
  const auto next = RestartPolicy({.most_restarts = 1, .least_ranks = 1}, -1).decide(lost_by(1), facts);
  EXPECT_TRUE(next.again);
  EXPECT_EQ(next.ranks, "0,");

  const auto end = RestartPolicy({.most_restarts = 1, .least_ranks = 0}, -1).decide(lost_by(1), facts);
  EXPECT_FALSE(end.again);
  EXPECT_EQ(end.ending.exit, Exit::rank_lost);
  EXPECT_EQ(end.ending.message, "rank 1 was killed by SIGKILL; 1 of 2 GPUs is lost");
}

TEST(RestartPolicy, GoesOnWithoutHostsThatAreLostWhereThatIsAllowed) {
  GroupEnding ending = lost_by(1);
  ending.has_lost_hosts = true;
  const Plan plan = plan_of(6);
  const GroupFacts facts{.plan = plan, .agents_before = 3, .agents_left = 2};
  EXPECT_EQ(RestartPolicy({.most_restarts = 1, .least_ranks = 1}, -1).decide(ending, facts).ranks, "4");
  const auto end = RestartPolicy({.most_restarts = 1, .least_ranks = 0}, -1).decide(ending, facts);
  EXPECT_FALSE(end.again);
  EXPECT_EQ(end.ending.message, "rank 1 was killed by SIGKILL; 1 of 3 hosts is lost");
}

TEST(RestartPolicy, AsksForSmallerMicroBatchesWhereRanksCouldNotSettleItThemselvesAndDoesNotCountThat) {
  GroupEnding ending;
  ending.exit = Exit::memory;
  Plan plan = plan_of(2);
  plan.strategy = Strategy::zero3;
  plan.micro_batch = 4;
  plan.accumulation = 1;
  RestartPolicy policy({}, -1);
  const auto next = policy.decide(ending, {.plan = plan});
  ASSERT_TRUE(next.again && next.smaller_micro_batches);
  EXPECT_EQ(next.smaller_micro_batches->micro_batch, 2);
  EXPECT_EQ(next.smaller_micro_batches->accumulation, 2);
  EXPECT_EQ(next.smaller_micro_batches->reasons.back(),
            "Memory ran out with micro-batch 4: since then 2 × accumulation 2.");
  EXPECT_EQ(policy.restarts(), 0);

  plan.micro_batch = 1;
  EXPECT_FALSE(policy.decide(ending, {.plan = plan}).again);
  plan.micro_batch = 4;
  plan.strategy = Strategy::ddp;
  EXPECT_FALSE(policy.decide(ending, {.plan = plan}).again) << "its ranks have tried already";
}

TEST(RestartPolicy, BlamesNoRankWhereNoneWasNamed) {
  EXPECT_EQ(after_two_failures_of(-1, {.most_restarts = 9, .least_ranks = 1}, plan_of(2)).ranks, "");
}

TEST(RestartPolicy, LeavesEndsAloneThatAnotherStartWouldRepeatOrSomebodyAskedFor) {
  for (const Exit exit : {Exit::done, Exit::usage, Exit::data, Exit::environment, Exit::memory,
                          Exit::numerics, Exit::checkpoint, Exit::stopped}) {
    RestartPolicy policy({.most_restarts = 100}, -1);
    GroupEnding ending = lost_by(0);
    ending.exit = exit;
    const auto next = policy.decide(ending, committed(-1));
    EXPECT_FALSE(next.again) << static_cast<int>(exit);
    EXPECT_EQ(next.ending.exit, exit);
    EXPECT_EQ(policy.restarts(), 0);
  }
  RestartPolicy policy({.most_restarts = 100}, -1);
  GroupEnding asked = lost_by(0);
  asked.was_asked = true;
  EXPECT_FALSE(policy.decide(asked, committed(-1)).again);
}

TEST(RestartPolicy, CountsWhatIsCommittedAfterItHadToGoBack) {
  RestartPolicy policy({.most_restarts = 100}, 10);
  for (int failure = 0; failure < 5; ++failure) {
    // Step 12 was committed, and found damaged at the next start.
    EXPECT_TRUE(policy.decide(lost_by(1), committed(12)).again) << failure;
    policy.go_back_to(10);
  }
}

}  // namespace
}  // namespace larmor
