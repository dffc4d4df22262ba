#include "larmor/train/loop.h"

#include <thread>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "tests/train/support/small_loop.h"

namespace larmor::testing {
namespace {

TEST(Loop, GoesOnInTheMicroBatchesThatMemoryHasLeft) {
  const auto solo = make_solo();
  TrainerState state;
  state.micro_batch = 1;
  const SmallLoop small(*solo, {.micro_batch = 4, .state = state});
  EXPECT_EQ(small.loop.plan.micro_batch, 1);
  EXPECT_EQ(small.loop.plan.accumulation, 4);
}

TEST(Loop, AdvancesByAGlobalBatchAndTheTimeSinceTheLastOne) {
  const auto solo = make_solo();
  SmallLoop small(*solo);
  small.clock.sleep(2);
  small.loop.mark = small.clock.steady_seconds();
  small.clock.sleep(3);
  small.loop.advance();
  EXPECT_EQ(small.loop.state.progress.step, 1);
  EXPECT_EQ(small.loop.state.progress.examples, 4);
  EXPECT_EQ(small.loop.state.progress.elapsed_seconds, 3);
  EXPECT_EQ(small.loop.moment().epoch, 0.5);
}

TEST(Loop, TellsATaskOfAllRanksWhatEachHas) {
  auto communicators = make_thread_ranks(2);
  std::vector<std::thread> threads;
  for (auto& communicator : communicators) {
    threads.emplace_back([&communicator] {
      const SmallLoop small(*communicator, {.micro_batch = 1});
      const auto context = small.loop.context();
      const auto own = at::full({1}, communicator->rank() + 1.0, at::kDouble);
      EXPECT_EQ(context.sum_over_ranks(own).item<double>(), 3);
      EXPECT_EQ(context.mean_over_ranks(own).item<double>(), 1.5);
      EXPECT_EQ(own.item<double>(), communicator->rank() + 1.0) << "it stays as it is";
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Loop, WarnsWhereThereIsSomethingToSay) {
  const auto solo = make_solo();
  SmallLoop small(*solo);
  small.loop.warn("");
  EXPECT_TRUE(small.heard.events.empty());
  small.loop.warn("a file is cut short");
  EXPECT_EQ(small.heard.of("warning"), std::vector<std::string>{"a file is cut short"});
}

TEST(Loop, ShowsItsPhaseOnTheBoard) {
  const auto solo = make_solo();
  SmallLoop small(*solo);
  small.loop.enter(Phase::validating);
  EXPECT_EQ(small.board.phase(0), Phase::validating);
}

}  // namespace
}  // namespace larmor::testing
