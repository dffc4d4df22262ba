#include "larmor/train/step/recovery.h"

#include <new>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/train/support/small_loop.h"

namespace larmor::testing {
namespace {

struct RecoveryOfOne {
  explicit RecoveryOfOne(Communicator& communicator)
      : small(communicator, {.micro_batch = 1}), batches(small.loop), recovery(small.loop, batches) {}

  /// What the rank says of it.
  template <class Failure>
  Votes fail_with(const Failure& failure) {
    try {
      throw failure;
    } catch (...) {
      return recovery.note_failure();
    }
  }

  SmallLoop small;
  MicroBatches batches;
  Recovery recovery;
};

TEST(Recovery, VotesByWhatHasFailed) {
  const auto solo = make_solo();
  RecoveryOfOne one(*solo);
  EXPECT_TRUE(one.fail_with(std::bad_alloc()).out_of_memory);
  EXPECT_FALSE(one.fail_with(std::bad_alloc()).failed);
  EXPECT_TRUE(one.fail_with(std::logic_error("a fault")).failed);
  EXPECT_FALSE(one.fail_with(Error(Exit::rank_lost, "rank 1 is gone")).failed)
      << "the one that is gone tells";
}

TEST(Recovery, RetriesWhatCanBeDoneAndThrowsTheRest) {
  const auto solo = make_solo();
  RecoveryOfOne one(*solo);
  EXPECT_EQ(one.recovery.retry_of({}), Retry::none);
  EXPECT_EQ(one.recovery.retry_of(one.fail_with(std::bad_alloc())), Retry::with_less_memory);
  EXPECT_THROW(one.recovery.prepare(Retry::with_less_memory), Error) << "of one example";
  const auto votes = one.fail_with(std::logic_error("a fault"));
  EXPECT_THROW(one.recovery.retry_of(votes), std::logic_error);
  EXPECT_EQ(one.recovery.retry_of({}), Retry::none) << "it has been thrown";
}

TEST(Recovery, DoesNotBeginAgainForWantOfMemoryInALookAhead) {
  const auto solo = make_solo();
  RecoveryOfOne one(*solo);
  one.fail_with(std::bad_alloc());
  EXPECT_THROW(one.recovery.retry_of({.failed = true}), std::bad_alloc);
}

TEST(Recovery, GivesGraphsUpBeforeMicroBatchesBecomeSmaller) {
  const auto solo = make_solo();
  RecoveryOfOne one(*solo);
  one.small.loop.plan.graphs = true;
  one.recovery.prepare(Retry::with_less_memory);
  EXPECT_FALSE(one.small.loop.plan.graphs);
  EXPECT_EQ(one.small.loop.plan.micro_batch, 1);
  EXPECT_EQ(one.small.loop.state.micro_batch, 0);
}

}  // namespace
}  // namespace larmor::testing
