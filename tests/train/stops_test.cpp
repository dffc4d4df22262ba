#include "larmor/train/stops.h"

#include <thread>

#include <gtest/gtest.h>

#include "tests/train/support/small_loop.h"

namespace larmor::testing {
namespace {

struct StopsOfOne {
  explicit StopsOfOne(Communicator& communicator, const SmallLoopOptions& options = {})
      : small(communicator, options),
        saves(
            small.checkpoints, small.clock, [] { return Snapshot(); }, -1),
        stops(small.loop, saves) {}

  SmallLoop small;
  Saves saves;
  Stops stops;
};

TEST(Stops, AreTheLengthOrTheWishOfOneRank) {
  const auto solo = make_solo();
  StopsOfOne one(*solo);
  EXPECT_EQ(one.stops.reason(), std::nullopt);
  one.stops.ask_ranks();
  EXPECT_EQ(one.stops.reason(), std::nullopt);
  one.small.stop_words = "stopped by SIGTERM";
  EXPECT_TRUE(one.stops.is_asked());
  one.stops.ask_ranks();
  EXPECT_EQ(one.stops.reason(), StopReason::signal);
  EXPECT_EQ(one.stops.words(StopReason::signal), "") << "time is not up";
  one.small.loop.state.progress.step = 4;
  EXPECT_EQ(one.stops.reason(), StopReason::length_reached);
  one.small.loop.state.due_validation = DueValidation();
  EXPECT_EQ(one.stops.reason(), StopReason::signal) << "its last validation is still to be done";
}

TEST(Stops, AreKnownToEveryRankWhenOneIsAsked) {
  auto communicators = make_thread_ranks(2);
  std::vector<std::thread> threads;
  for (auto& communicator : communicators) {
    threads.emplace_back([&communicator] {
      StopsOfOne one(*communicator, {.micro_batch = 1});
      if (!communicator->is_first()) one.small.stop_words = "stopped by SIGINT";
      one.stops.ask_ranks();
      EXPECT_EQ(one.stops.reason(), StopReason::signal);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(Stops, ComeEarlyWhereValidationsAreWithoutGain) {
  const auto solo = make_solo();
  StopsOfOne one(*solo, {.change = [](RunConfig& config) { config.train.early_stopping = 2; }});
  one.small.loop.state.validations_without_gain = 1;
  EXPECT_EQ(one.stops.reason(), std::nullopt);
  one.small.loop.state.validations_without_gain = 2;
  EXPECT_EQ(one.stops.reason(), StopReason::stopped_early);
}

/// The same loop, to be stopped so many seconds after its start.
struct StopsOfALimit {
  StopsOfALimit(Communicator& communicator, double seconds, const SmallLoopOptions& options = {})
      : small(communicator, options), parts(small.parts), limited((limit(seconds), parts), {}) {}
  void limit(double seconds) {
    parts.time_left = TimeLeft({.kind = StopBefore::Kind::length, .seconds = seconds}, {}, {}, small.clock);
  }

  SmallLoop small;
  TrainerParts parts;
  Loop limited;
  Saves saves{small.checkpoints, small.clock, [] { return Snapshot(); }, -1};
  Stops stops{limited, saves};
};

TEST(Stops, LeaveTimeForTwoStepsASaveAndAValidationThatIsDue) {
  const auto solo = make_solo();
  // 10 s for a save, 5 s of margin, and two steps of 20 s.
  StopsOfALimit plain(*solo, 100);
  plain.stops.note_step(20);
  EXPECT_FALSE(plain.stops.is_asked());
  plain.small.clock.sleep(46);
  EXPECT_TRUE(plain.stops.is_asked());
  plain.stops.ask_ranks();
  EXPECT_NE(plain.stops.words(StopReason::signal).find("stopped before"), std::string::npos);

  StopsOfALimit validating(*solo, 100,
                           {.change = [](RunConfig& config) { config.train.validate_every.amount = 1; }});
  validating.stops.note_step(20);
  validating.stops.note_validation(50);
  EXPECT_TRUE(validating.stops.is_asked()) << "a validation of 50 s is due";
}

TEST(Stops, CutAValidationWhenTimeIsUp) {
  const auto solo = make_solo();
  StopsOfALimit limited(*solo, 100);
  const auto asked = limited.stops.asks_validation();
  EXPECT_EQ(asked(), "");
  limited.small.stop_words = "stopped by SIGTERM";
  EXPECT_EQ(asked(), "stopped by SIGTERM");
  limited.small.clock.sleep(86);
  EXPECT_NE(asked().find("stopped before"), std::string::npos);
  limited.stops.note_stopped_validation();
  EXPECT_EQ(limited.stops.reason(), StopReason::signal);
}

}  // namespace
}  // namespace larmor::testing
