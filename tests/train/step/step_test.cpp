#include "larmor/train/step/step.h"

#include <limits>
#include <new>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/train/support/small_loop.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A small loop with all that a step needs.
struct StepOfOne {
  explicit StepOfOne(
      Communicator& communicator, const SmallLoopOptions& options = {},
      const std::function<void(OneWeight&)>& change = [](OneWeight&) {})
      : small(communicator, options),
        batches(small.loop),
        recovery(small.loop, batches),
        saves(
            small.checkpoints, small.clock, [] { return Snapshot(); }, -1),
        stops(small.loop, saves),
        step((change(small.task), small.loop), batches, recovery, saves, stops) {}

  SmallLoop small;
  MicroBatches batches;
  Recovery recovery;
  Saves saves;
  Stops stops;
  Step step;
};

/// A micro-batch of more examples than these does not fit.
std::function<void(const Batch&)> memory_for(int64_t examples) {
  return [examples](const Batch& batch) {
    if (batch.size() > examples) throw std::bad_alloc();
  };
}

TEST(Step, MovesTheWeightAsByHandHoweverTheBatchIsDivided) {
  const auto solo = make_solo();
  for (const int64_t micro_batch : {1, 2, 4}) {
    for (const bool is_counted : {false, true}) {
      StepOfOne one(*solo, {.micro_batch = micro_batch},
                    [is_counted](OneWeight& task) { task.counts_examples = is_counted; });
      double expected = 0;
      for (int64_t step = 0; step < 3; ++step) {
        const auto outcome = one.step.run();
        one.small.loop.advance();
        expected = SmallLoop::after_step(expected, one.small.examples_of_step(step));
        EXPECT_NEAR(one.small.task.weight(), expected, 1e-12) << micro_batch << is_counted;
        EXPECT_FALSE(outcome.votes.stop);
        EXPECT_EQ(outcome.values.at("optim/learning_rate"), 0.01);
        EXPECT_TRUE(outcome.values.contains("train/loss"));
      }
    }
  }
}

TEST(Step, IsTheSameOnTwoRanks) {
  auto communicators = make_thread_ranks(2);
  std::vector<std::thread> threads;
  for (auto& communicator : communicators) {
    threads.emplace_back([&communicator] {
      StepOfOne one(*communicator, {.micro_batch = 1});
      one.small.stop_words = communicator->is_first() ? "" : "stopped by SIGTERM";
      EXPECT_TRUE(one.step.run().votes.stop) << "one rank is asked";
      EXPECT_NEAR(one.small.task.weight(), SmallLoop::after_step(0, one.small.examples_of_step(0)), 1e-12);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Step, IsDoneAgainWithoutWhatTheTaskRefuses) {
  const auto solo = make_solo();
  StepOfOne one(*solo);
  const auto planned = one.small.examples_of_step(0);
  one.small.task.before_losses = [&](const Batch& batch) {
    for (const auto& key : batch.keys) {
      if (key.example == planned[1]) fail(Exit::data, "has no tumour");
    }
  };
  one.step.run();
  const auto& seen = one.small.task.seen;
  std::vector<int64_t> trained = seen[seen.size() - 2];
  trained.insert(trained.end(), seen.back().begin(), seen.back().end());
  EXPECT_EQ(trained[0], planned[0]);
  EXPECT_NE(trained[1], planned[1]) << "the next of its epoch stands in";
  EXPECT_NEAR(one.small.task.weight(), SmallLoop::after_step(0, trained), 1e-12)
      << "nothing of the first attempt counts";
  ASSERT_EQ(one.small.heard.of("warning").size(), 1U);
  EXPECT_THAT(one.small.heard.of("warning").front(), HasSubstr("has no tumour"));
}

TEST(Step, GoesOnWithSmallerMicroBatchesWhereMemoryRunsOut) {
  const auto solo = make_solo();
  StepOfOne one(*solo, {.micro_batch = 4});
  one.small.task.before_losses = memory_for(1);
  one.step.run();
  EXPECT_EQ(one.small.loop.plan.micro_batch, 1);
  EXPECT_EQ(one.small.loop.plan.accumulation, 4);
  EXPECT_EQ(one.small.loop.state.micro_batch, 1) << "a resumed run remembers";
  EXPECT_NEAR(one.small.task.weight(), SmallLoop::after_step(0, one.small.examples_of_step(0)), 1e-12);
  EXPECT_THAT(one.small.heard.of("warning"),
              ElementsAre("step 1: memory ran out with micro-batch 4 on at least one rank; all go on with 2 "
                          "and accumulation 2",
                          "step 1: memory ran out with micro-batch 2 on at least one rank; all go on with 1 "
                          "and accumulation 4"));
  one.small.task.before_losses = memory_for(0);
  try {
    one.step.run();
    FAIL() << "there is nothing smaller";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::memory);
  }
}

TEST(Step, LeavesTheWeightAloneWhereALossIsNotFiniteUpToTheBudget) {
  const auto solo = make_solo();
  StepOfOne one(*solo, {.change = [](RunConfig& config) { config.train.non_finite_budget = 1; }});
  const double start = std::numeric_limits<double>::quiet_NaN();
  const at::NoGradGuard no_gradients;
  one.small.task.network->weight.fill_(start);
  {
    const at::AutoGradMode gradients(true);
    EXPECT_FALSE(one.step.run().votes.stop);
    EXPECT_EQ(one.small.loop.state.non_finite_steps, 1);
    EXPECT_THROW(one.step.run(), Error) << "past the budget";
  }
}

TEST(Step, TellsEachRankWhoseFailureEndsTheRun) {
  auto communicators = make_thread_ranks(2);
  std::vector<std::thread> threads;
  for (auto& communicator : communicators) {
    threads.emplace_back([&communicator] {
      StepOfOne one(*communicator, {.micro_batch = 1});
      if (communicator->is_first())
        one.small.task.before_losses = [](const Batch&) { throw std::logic_error("a fault of the code"); };
      try {
        one.step.run();
        FAIL() << "went on";
      } catch (const std::exception& error) {
        EXPECT_THAT(error.what(), HasSubstr(communicator->is_first() ? "a fault of the code"
                                                                     : "step 1 failed on another rank"));
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Step, TellsOfFilesThatCannotBeReadOnEveryRank) {
  auto communicators = make_thread_ranks(2);
  std::vector<std::thread> threads;
  for (auto& communicator : communicators) {
    threads.emplace_back([&communicator] {
      StepOfOne one(*communicator, {.micro_batch = 1});
      one.small.training.unreadable = {one.small.examples_of_step(0).front()};
      one.step.run();
      EXPECT_FALSE(one.small.loop.bad.has_new());
      EXPECT_EQ(one.small.heard.of("warning").size(), 1U);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Step, SharesABadFileOnceAStepIsDoneWhereMemoryRanOutBesideIt) {
  auto communicators = make_thread_ranks(2);
  std::vector<std::thread> threads;
  for (auto& communicator : communicators) {
    threads.emplace_back([&communicator] {
      StepOfOne one(*communicator, {.global_batch = 8, .micro_batch = 2});
      one.small.training.unreadable = {one.small.examples_of_step(0).front()};  // of rank 0's first batch
      one.small.task.before_losses = [&one, &communicator](const Batch& batch) {
        if (communicator->is_first() && one.small.task.seen.size() == 1) memory_for(1)(batch);
      };
      one.step.run();
      EXPECT_EQ(one.small.loop.plan.micro_batch, 1);
      ASSERT_EQ(one.small.heard.of("warning").size(), 2U);
      EXPECT_THAT(one.small.heard.of("warning").front(), HasSubstr("memory ran out"));
      EXPECT_THAT(one.small.heard.of("warning").back(), HasSubstr("is cut short"));
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace larmor::testing
