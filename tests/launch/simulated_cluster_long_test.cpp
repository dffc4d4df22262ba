// Twenty thousand runs of simulated_cluster_test.cpp.
#include <gtest/gtest.h>

#include "tests/launch/support/simulated_runs.h"

namespace larmor {
namespace {

TEST_F(SimulatedRuns, KeepEveryPromiseTwentyThousandTimes) {
  const auto played = play_all(0, 20'000);
  EXPECT_GT(played.done, 6000);
  EXPECT_GT(played.requeued, 1000);
}

}  // namespace
}  // namespace larmor
