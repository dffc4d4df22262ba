// What a run on several machines promises, whatever happens to machines, network and ranks: a thousand runs
// that differ by their seed. One that breaks a promise is played again by its number.
#include <gtest/gtest.h>

#include "tests/launch/support/simulated_runs.h"

namespace larmor {
namespace {

TEST_F(SimulatedRuns, KeepEveryPromise) {
  const auto played = play_all(0, 1000);
  EXPECT_GT(played.untouched, 80);
  EXPECT_GT(played.done, 300) << "most faults are lived through";
  EXPECT_GT(played.requeued, 50);
}

TEST_F(SimulatedRuns, ArePlayedTheSameBySeed) {
  for (const unsigned seed : {3U, 17U, 40U}) {
    const auto first = play(seed), second = play(seed);
    EXPECT_EQ(first.seconds, second.seconds);
    EXPECT_EQ(first.struck, second.struck);
    EXPECT_EQ(first.committed, second.committed);
  }
}

TEST_F(SimulatedRuns, ShowMembersThatWaitForEver) {
  EXPECT_GT(broken(300, "nobody waits for ever", {.members_wait_for_ever = true}), 0);
}

TEST_F(SimulatedRuns, ShowAStorageWithoutAFence) {
  EXPECT_GT(broken(1000, "no step is saved by two groups", {.storage_has_no_fence = true}), 0);
}

TEST_F(SimulatedRuns, ShowLeadersThatGoOnBesideALaterStart) {
  EXPECT_GT(broken(1000, "a job starts nothing once a later one has", {.leaders_go_on_regardless = true}), 0);
}

}  // namespace
}  // namespace larmor
