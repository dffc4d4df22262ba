#include "larmor/train/step/step_counts.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/comm/support/rank_threads.h"

namespace larmor::testing {
namespace {

TEST(StepCounts, AreSummedOverRanks) {
  run_thread_ranks(3, [](Communicator& communicator) {
    const auto own = at::tensor({1.0, static_cast<double>(communicator.rank())}, at::kDouble);
    const auto sums = sum_counts(own, /*well=*/true, communicator);
    ASSERT_TRUE(sums.has_value());
    EXPECT_TRUE(at::equal(*sums, at::tensor({3.0, 3.0}, at::kDouble)));
  });
}

TEST(StepCounts, AreNoneWhereOneRankHasFailed) {
  run_thread_ranks(3, [](Communicator& communicator) {
    EXPECT_FALSE(sum_counts(at::ones({2}, at::kDouble), communicator.rank() != 1, communicator).has_value());
  });
}

}  // namespace
}  // namespace larmor::testing
