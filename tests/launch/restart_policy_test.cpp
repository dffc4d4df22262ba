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

TEST(RestartPolicy, NeverRestartsUnlessItIsAllowed) {
  RestartPolicy policy(0, -1);
  for (int failure = 0; failure < 5; ++failure) {
    const auto verdict = policy.decide(lost_by(1), failure);
    EXPECT_FALSE(verdict.again);
    EXPECT_EQ(verdict.ending.exit, Exit::rank_lost);
    EXPECT_EQ(verdict.ending.message, "rank 1 was killed by SIGKILL");
  }
}

TEST(RestartPolicy, RestartsAtOnceWhileTheRunMovesOnUntilTheBudgetIsSpent) {
  RestartPolicy policy(4, 10);
  for (int failure = 1; failure <= 4; ++failure) {
    const auto verdict = policy.decide(lost_by(1), 10 + failure);
    EXPECT_TRUE(verdict.again);
    EXPECT_EQ(verdict.wait_seconds, 0);
    EXPECT_EQ(policy.restarts(), failure);
  }
  const auto verdict = policy.decide(lost_by(1), 20);
  EXPECT_FALSE(verdict.again);
  EXPECT_EQ(verdict.ending.exit, Exit::rank_lost);
  EXPECT_EQ(verdict.ending.raw_status, 8);
  EXPECT_EQ(verdict.ending.message, "rank 1 was killed by SIGKILL (after 4 restarts)");
}

TEST(RestartPolicy, CountsOneRestartInTheSingular) {
  RestartPolicy policy(1, -1);
  EXPECT_TRUE(policy.decide(lost_by(0), 5).again);
  EXPECT_THAT(policy.decide(lost_by(0), 6).ending.message, HasSubstr("(after 1 restart)"));
}

TEST(RestartPolicy, EndsAfterThreeStartsThatCommitNothing) {
  for (const int64_t committed : {-1, 0, 120}) {
    RestartPolicy policy(100, committed);
    EXPECT_TRUE(policy.decide(lost_by(1), committed).again);
    EXPECT_TRUE(policy.decide(lost_by(1), committed).again);
    const auto verdict = policy.decide(lost_by(1), committed);
    EXPECT_FALSE(verdict.again);
    EXPECT_EQ(verdict.ending.exit, Exit::no_progress);
    EXPECT_EQ(verdict.ending.raw_status, 9);
    EXPECT_EQ(verdict.ending.first_rank, 1);
    EXPECT_EQ(verdict.ending.message,
              "no checkpoint was committed in the last 3 starts; the last one: rank 1 was killed by SIGKILL");
  }
}

TEST(RestartPolicy, WaitsLongerWhileNothingIsCommittedAndForgetsItAtTheFirstStepOn) {
  RestartPolicy policy(100, -1);
  EXPECT_EQ(policy.decide(lost_by(1), -1).wait_seconds, 0);
  EXPECT_EQ(policy.decide(lost_by(1), -1).wait_seconds, 1);
  EXPECT_EQ(policy.decide(lost_by(1), 3).wait_seconds, 0);
  EXPECT_EQ(policy.decide(lost_by(1), 3).wait_seconds, 0);
  EXPECT_EQ(policy.decide(lost_by(1), 3).wait_seconds, 1);
  EXPECT_FALSE(policy.decide(lost_by(1), 3).again);
}

TEST(RestartPolicy, TakesAnOlderCheckpointForNoProgress) {
  RestartPolicy policy(100, 50);
  EXPECT_TRUE(policy.decide(lost_by(1), 40).again);
  EXPECT_TRUE(policy.decide(lost_by(1), 50).again);
  EXPECT_EQ(policy.decide(lost_by(1), 45).ending.exit, Exit::no_progress);
}

TEST(RestartPolicy, TellsWhenTheSameRankFailsAgainWithoutProgress) {
  RestartPolicy policy(100, -1);
  EXPECT_FALSE(policy.decide(lost_by(1), -1).same_rank_again);
  EXPECT_TRUE(policy.decide(lost_by(1), -1).same_rank_again);
  EXPECT_FALSE(policy.decide(lost_by(1), 5).same_rank_again);
  EXPECT_FALSE(policy.decide(lost_by(2), 5).same_rank_again);
  EXPECT_TRUE(policy.decide(lost_by(2), 5).same_rank_again);
}

TEST(RestartPolicy, BlamesNoRankWhereNoneWasNamed) {
  RestartPolicy policy(100, -1);
  policy.decide(lost_by(-1), -1);
  EXPECT_FALSE(policy.decide(lost_by(-1), -1).same_rank_again);
}

TEST(RestartPolicy, LeavesEndsAloneThatAnotherStartWouldRepeatOrSomebodyAskedFor) {
  for (const Exit exit : {Exit::done, Exit::usage, Exit::data, Exit::environment, Exit::memory,
                          Exit::numerics, Exit::checkpoint, Exit::stopped}) {
    RestartPolicy policy(100, -1);
    GroupEnding ending = lost_by(0);
    ending.exit = exit;
    const auto verdict = policy.decide(ending, -1);
    EXPECT_FALSE(verdict.again) << static_cast<int>(exit);
    EXPECT_EQ(verdict.ending.exit, exit);
    EXPECT_EQ(policy.restarts(), 0);
  }
  RestartPolicy policy(100, -1);
  GroupEnding asked = lost_by(0);
  asked.was_asked = true;
  EXPECT_FALSE(policy.decide(asked, -1).again);
}

TEST(RestartPolicy, CountsWhatIsCommittedAfterItHadToGoBack) {
  RestartPolicy policy(100, 10);
  for (int failure = 0; failure < 5; ++failure) {
    // Step 12 was committed, and found damaged at the next start.
    EXPECT_TRUE(policy.decide(lost_by(1), 12).again) << failure;
    policy.go_back_to(10);
  }
}

}  // namespace
}  // namespace larmor
