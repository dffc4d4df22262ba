#include "larmor/track/background.h"

#include <atomic>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "tests/track/support/collecting.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What has reached a sink; it outlives the sink.
class Calls {
 public:
  void add(std::string call) {
    const std::scoped_lock lock(mutex_);
    all_.push_back(std::move(call));
  }
  std::vector<std::string> all() const {
    const std::scoped_lock lock(mutex_);
    return all_;
  }
  size_t count_of(const std::string& words) const {
    size_t found = 0;
    for (const auto& call : all()) found += call.find(words) != std::string::npos ? 1 : 0;
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> all_;
};

/// Notes its calls, and does `before` first.
class NotedSink final : public Tracker {
 public:
  NotedSink(Calls& calls, const Clock& clock, std::function<void()> before)
      : calls_(calls), clock_(clock), before_(std::move(before)) {}
  void start(const Moment&, const RunFacts& run) override { note(text("start ", run.name)); }
  void event(const Moment& moment, std::string_view kind, const Values& values,
             std::string_view words) override {
    note(text(kind, " ", moment.step, values.contains("train/loss") ? " loss" : "", words.empty() ? "" : " ",
              words));
  }
  void picture(const Moment& moment, std::string_view name, const Picture& picture) override {
    note(text(name, " ", moment.step, " ", picture.image().width));
  }
  void flush() override { note("flush"); }

 private:
  void note(const std::string& call) {
    before_();
    calls_.add(text(fixed(clock_.wall_seconds(), 0), ": ", call));
  }
  Calls& calls_;
  const Clock& clock_;
  std::function<void()> before_;
};

class BackgroundSink : public ::testing::Test {
 protected:
  std::unique_ptr<Tracker> open(const BackgroundLimits& limits = {}) {
    return make_background(
        "the sink", clock_,
        [this](const Clock& clock) {
          return std::make_unique<NotedSink>(calls_, clock, [this] { before_(); });
        },
        limits);
  }
  static void step(Tracker& tracker, int64_t number) {
    tracker.event({.step = number}, "step", {{"train/loss", 0.5}}, "");
  }

  Calls calls_;
  ManualClock clock_;
  std::function<void()> before_ = [] {};
};

/// Everybody who comes to it waits until it is opened.
class Gate {
 public:
  void pass() { opened_.wait(); }
  void open() { opened_.count_down(); }

 private:
  std::latch opened_{1};
};

TEST_F(BackgroundSink, GetsRecordsInTheirOrderWithTheTimesAtWhichTheyWereMade) {
  const auto tracker = open();
  clock_.set(100);
  tracker->start({}, {.name = "trial"});
  clock_.set(101);
  tracker->event({.step = 1}, "step", {{"train/loss", 2}}, "");
  tracker->event({.step = 1}, "warning", {}, "words");
  tracker->picture({.step = 1}, "face", Image{.width = 3, .height = 1, .channels = 1, .pixels = {1, 2, 3}});
  clock_.set(102);
  tracker->flush();
  EXPECT_THAT(calls_.all(), ElementsAre("100: start trial", "101: step 1 loss", "101: warning 1 words",
                                        "101: face 1 3", "102: flush"));
}

TEST_F(BackgroundSink, HoldsUpNobodyWhileItIsBlocked) {
  Gate gate;
  before_ = [&gate] { gate.pass(); };
  auto tracker = open({.records = 100});
  ::testing::internal::CaptureStderr();
  clock_.set(7);
  for (int64_t number = 1; number <= 5000; ++number) {
    step(*tracker, number);
    if (number == 40) tracker->event({.step = number}, "validation", {{"val/loss", 1}}, "");
  }
  EXPECT_THAT(calls_.all(), IsEmpty());
  EXPECT_THAT(tracker->take_complaint(), HasSubstr("the sink is written more slowly than the run records"));
  EXPECT_EQ(tracker->take_complaint(), "") << "said once";
  gate.open();
  tracker->flush();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(count(said, "more slowly"), 1) << said;
  EXPECT_EQ(calls_.count_of("validation 40"), 1U) << "steps give way to what comes seldom";
  EXPECT_EQ(calls_.count_of("step 5000"), 1U) << "the newest steps stay";
  EXPECT_EQ(calls_.count_of("step 1000"), 0U);
  const size_t steps = calls_.count_of(": step ");
  EXPECT_LE(steps, 101U) << "those of the queue, and the one that the sink held";
  EXPECT_EQ(calls_.count_of(text("warning 0 ", 5000 - steps, " records are missing")), 1U)
      << ::testing::PrintToString(calls_.all());
}

TEST_F(BackgroundSink, KeepsNoMorePicturesThanItHasRoomFor) {
  Gate gate;
  before_ = [&gate] { gate.pass(); };
  const auto tracker = open({.bytes = 1000});
  const Image image{.width = 20, .height = 20, .channels = 1, .pixels = std::vector<uint8_t>(400)};
  ::testing::internal::CaptureStderr();
  for (int64_t number = 1; number <= 50; ++number) tracker->picture({.step = number}, "face", image);
  gate.open();
  tracker->flush();
  ::testing::internal::GetCapturedStderr();
  EXPECT_LE(calls_.count_of("face"), 3U);
  EXPECT_EQ(calls_.count_of("face 50"), 1U);
}

TEST_F(BackgroundSink, IsFlushedAtACheckpointForWhichNobodyWaits) {
  Gate gate;
  before_ = [&gate] { gate.pass(); };
  const auto tracker = open();
  tracker->event({.step = 3}, "checkpoint", {}, "");
  EXPECT_THAT(calls_.all(), IsEmpty());
  gate.open();
  step(*tracker, 4);
  tracker->flush();
  EXPECT_THAT(calls_.all(), ElementsAre("0: checkpoint 3", "0: flush", "0: step 4 loss", "0: flush"));
}

TEST_F(BackgroundSink, MayThrowAndIsGoneOnWithout) {
  before_ = [] { throw std::runtime_error("nobody answers"); };
  ::testing::internal::CaptureStderr();
  {
    const auto tracker = open();
    for (int64_t number = 1; number <= 3; ++number) step(*tracker, number);
    tracker->flush();
    EXPECT_EQ(tracker->take_complaint(), "training goes on without the sink: nobody answers");
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(count(said, "nobody answers"), 1) << said;
  EXPECT_THAT(calls_.all(), IsEmpty());
}

TEST_F(BackgroundSink, TellsTheRankThatTheRunWentOnWithoutIt) {
  before_ = [] { fail(Exit::rank_lost, "a later generation writes here"); };
  const auto tracker = open();
  step(*tracker, 1);
  try {
    tracker->flush();
    FAIL() << "the loss was not told";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::rank_lost);
  }
  EXPECT_THROW(step(*tracker, 2), Error);
}

TEST_F(BackgroundSink, WritesWhatIsQueuedBeforeItGoes) {
  before_ = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  {
    const auto tracker = open();
    for (int64_t number = 1; number <= 50; ++number) step(*tracker, number);
  }
  EXPECT_EQ(calls_.count_of("step"), 50U);
}

TEST_F(BackgroundSink, KeepsTheEndOfARunWaitingForNoLongerThanItsLimit) {
  Gate gate;
  before_ = [&gate] { gate.pass(); };
  ::testing::internal::CaptureStderr();
  {
    const auto tracker = open({.seconds = 0.05});
    for (int64_t number = 1; number <= 3; ++number) step(*tracker, number);
    tracker->flush();  // comes back, though nothing has been written
    EXPECT_THAT(calls_.all(), IsEmpty());
    gate.open();
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("the sink has not been written for 0.05 s"));
}

TEST_F(BackgroundSink, IsRefusedAtOnceWhereItCannotBeMade) {
  const auto refuse = [](const Clock&) -> std::unique_ptr<Tracker> {
    fail(Exit::environment, "there is no such folder");
  };
  EXPECT_THROW(make_background("the sink", clock_, refuse), Error);
}

}  // namespace
}  // namespace larmor
