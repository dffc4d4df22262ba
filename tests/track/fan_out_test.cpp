#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/clock.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"
#include "larmor/track/tracker.h"

#include "tests/track/support/collecting.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;

/// Records its calls in a list that outlives it.
class Recorder final : public Tracker {
 public:
  Recorder(std::string name, std::vector<std::string>& calls) : name_(std::move(name)), calls_(calls) {}
  void start(const Moment& moment, const RunFacts& run) override {
    calls_.push_back(text(name_, " starts ", run.name, " ", moment.step));
  }
  void event(const Moment& moment, std::string_view kind, const Values& values,
             std::string_view words) override {
    calls_.push_back(text(name_, " ", kind, " ", moment.step, " ", values.at("a"), " ", words));
  }
  void picture(const Moment& moment, std::string_view name, const Picture& picture) override {
    calls_.push_back(text(name_, " ", name, " ", moment.step, " ", picture.image().width));
  }
  void flush() override { calls_.push_back(name_ + " flush"); }

 private:
  std::string name_;
  std::vector<std::string>& calls_;
};

TEST(FanOut, PassesEverythingToEachOfItsSinksInTurn) {
  std::vector<std::string> calls;
  std::vector<std::unique_ptr<Tracker>> sinks;
  sinks.push_back(std::make_unique<Recorder>("one", calls));
  sinks.push_back(std::make_unique<Recorder>("two", calls));
  const auto all = make_fan_out(std::move(sinks));
  all->start({}, {.name = "trial"});
  all->event({7, 0.5, 56}, "step", {{"a", 1.5}}, "words");
  all->picture({8, 0.5, 64}, "face", Image{.width = 3, .height = 1, .channels = 1, .pixels = {1, 2, 3}});
  all->flush();
  EXPECT_THAT(calls,
              ElementsAre("one starts trial 0", "two starts trial 0", "one step 7 1.5 words",
                          "two step 7 1.5 words", "one face 8 3", "two face 8 3", "one flush", "two flush"));
}

TEST(FanOut, TellsTheOtherSinksOnceWhatWentWrongWithOne) {
  const ScratchFolder scratch;
  const ManualClock clock;
  FullDisk disk("write");
  Screen screen = Screen::pipe();
  std::vector<std::unique_ptr<Tracker>> sinks;
  sinks.push_back(make_event_log(disk.storage, clock, scratch.path() / "events.jsonl", 0));
  sinks.push_back(make_console({.quiet = true, .descriptor = screen.descriptor()}, clock));
  const auto all = make_fan_out(std::move(sinks));
  disk.is_full = true;
  ::testing::internal::CaptureStderr();
  for (int step = 1; step < 4; ++step) all->event({step, 0, 0}, "step", {}, "");
  ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(screen.take(), "warning: training goes on without events.jsonl: No space left on device\n");
}

TEST(MakeTracker, WritesWhereItIsTold) {
  const ScratchFolder scratch;
  const ManualClock clock;
  DiskStorage disk;
  const auto at = [&](const char* name) { return scratch.path() / name; };
  for (const bool has_tensorboard : {false, true}) {
    TrackerOptions options{.events = at("events.jsonl"),
                           .pictures = at("pictures"),
                           .tensorboard = {},
                           .curves = at("curves.png"),
                           .console = {}};
    if (has_tensorboard) options.tensorboard = at("tb");
    const auto tracker = make_tracker(options, disk, clock);
    tracker->start({}, {.name = "trial"});
    tracker->picture({}, "face", Image{.width = 3, .height = 1, .channels = 1, .pixels = {1, 2, 3}});
    tracker->event({.step = 1}, "step", {{"train/loss", 1}}, "");
    tracker->event({.step = 1}, "end", {}, "");
    tracker->flush();
    EXPECT_EQ(std::filesystem::exists(at("tb")), has_tensorboard);
    EXPECT_TRUE(std::filesystem::exists(at("curves.png")));
  }
  EXPECT_FALSE(std::filesystem::is_empty(at("pictures")));
  EXPECT_EQ(count(read_text(at("events.jsonl")), "\"kind\":\"start\""), 2);
}

TEST(SilentTracker, TakesEverythingAndDoesNothing) {
  const auto silent = make_silent_tracker();
  silent->event({}, "step", {}, "");
  silent->picture({}, "face", Image{});
  silent->flush();
}

}  // namespace
}  // namespace larmor
