#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/clock.h"
#include "larmor/track/tracker.h"

#include "tests/track/support/collecting.h"

namespace larmor {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const Values step_values = {{"train/loss", 0.5}, {"perf/step_ms", 100}, {"perf/samples_per_second", 80}};

class ConsoleTest : public ::testing::Test {
 protected:
  explicit ConsoleTest(int columns) : screen_(columns ? Screen::terminal(columns) : Screen::pipe()) {
    options_.descriptor = screen_.descriptor();
    options_.total_steps = 1000;
  }
  void open() { console_ = make_console(options_, clock_); }
  std::string step(int64_t number) {
    console_->event({number, 0.5, number * 8}, "step", step_values, "");
    return screen_.take();
  }
  std::string event(std::string_view kind, const Values& values, std::string_view words) {
    console_->event({100, 2, 800}, kind, values, words);
    return screen_.take();
  }

  ConsoleOptions options_;
  ManualClock clock_;
  Screen screen_;
  std::unique_ptr<Tracker> console_;
};

class PlainConsole : public ConsoleTest {
 protected:
  PlainConsole() : ConsoleTest(0) {}
};

TEST_F(PlainConsole, PrintsALineForAStep) {
  open();
  step(1);
  clock_.sleep(1);
  EXPECT_EQ(step(2),
            "step 2/1000 (0 %)  epoch 0.50  loss 0.5  80 examples/s  100 ms/step  data wait 0 %  ETA 16 min "
            "38 s\n");
}

TEST_F(PlainConsole, ShowsTheFirstStepsAndThenOneEveryFewSeconds) {
  open();
  int lines = 0;
  for (int64_t number = 1; number <= 600; ++number) {
    clock_.sleep(0.1);
    lines += count(step(number), "\n");
  }
  // Three at once, then one every five seconds of the minute.
  EXPECT_GE(lines, 3 + 10);
  EXPECT_LE(lines, 3 + 12);
}

TEST_F(PlainConsole, PrintsOnceAMinuteWhenTheRunIsOld) {
  open();
  clock_.sleep(7200);
  int lines = 0;
  for (int64_t number = 10; number < 40; ++number) {
    clock_.sleep(10);
    lines += count(step(number), "\n");
  }
  EXPECT_GE(lines, 4);
  EXPECT_LE(lines, 6);
}

TEST_F(PlainConsole, CountsTheFirstStepsFromWhereARunIsContinued) {
  options_.start_step = 500;
  open();
  EXPECT_THAT(step(501), HasSubstr("step 501/1000 (50 %)"));
  EXPECT_THAT(step(502), HasSubstr("step 502"));
}

TEST_F(PlainConsole, AlwaysShowsTheLastStep) {
  open();
  step(3);
  EXPECT_THAT(step(999), IsEmpty());
  EXPECT_THAT(step(1000), HasSubstr("step 1000/1000 (100 %)"));
}

TEST_F(PlainConsole, UsesNeitherColorNorControlCharacters) {
  open();
  const std::string all = step(1) + event("validation", {{"val/loss", 1}}, "") +
                          event("warning", {}, "careful") + event("checkpoint", {}, "") +
                          event("end", {}, "");
  EXPECT_THAT(all, Not(HasSubstr("\x1b")));
  EXPECT_THAT(all, Not(HasSubstr("\r")));
}

TEST_F(PlainConsole, SaysWhatAValidationFoundALineAFigureWithItsChange) {
  options_.figures = {{.name = "psnr", .better = Better::higher, .unit = "dB"},
                      {.name = "loss", .better = Better::lower}};
  options_.metric = "val/loss";
  open();
  EXPECT_EQ(event("validation", {{"val/loss", 0.0123}, {"val/psnr", 31.25}, {"val/psnr@t1", 30}}, ""),
            "validation after step 100 (epoch 2.00)\n"
            "  psnr ↑  31.25 dB\n"
            "  loss ↓  0.0123      best so far\n");
  EXPECT_EQ(event("validation", {{"val/loss", 0.0125}, {"val/psnr", 31.5}}, ""),
            "validation after step 100 (epoch 2.00)\n"
            "  psnr ↑  31.5 dB  +0.25\n"
            "  loss ↓  0.0125   +0.0002\n");
}

TEST_F(PlainConsole, SaysNothingOfWorkThatIsDoneInAMomentAndThenHowFarItIs) {
  open();
  const auto validated = [&](int64_t done) {
    console_->progress({.what = "validated", .unit = "cases", .done = done, .all = 40});
    return screen_.take();
  };
  EXPECT_THAT(validated(0) + validated(1), IsEmpty());
  clock_.sleep(10);
  EXPECT_EQ(validated(4), "validated 4 of 40, 0.40 cases/s, ETA 1 min 30 s\n");
  EXPECT_THAT(validated(5), IsEmpty());
}

TEST_F(PlainConsole, SaysThatACheckpointIsSaved) {
  open();
  EXPECT_EQ(
      event("checkpoint", {{"perf/save_seconds", 1.25}, {"perf/save_stall_seconds", 0.1}}, "best so far"),
      "checkpoint of step 100 saved in 1.25 s, best so far\n");
  EXPECT_EQ(event("checkpoint", {}, ""), "checkpoint of step 100 saved\n");
}

TEST_F(PlainConsole, PassesWarningsAndErrorsOn) {
  open();
  EXPECT_EQ(event("warning", {}, "step 7: skipped"), "warning: step 7: skipped\n");
  EXPECT_EQ(event("error", {}, "no more"), "error: no more\n");
}

TEST_F(PlainConsole, SaysHowItEndedAndOfWhatTheBestIs) {
  options_.metric = "val/loss";
  open();
  EXPECT_EQ(
      event("end",
            {{"end/seconds", 75}, {"best/step", 80}, {"best/value", 0.01}, {"end/non_finite_steps", 0}},
            "length reached"),
      "ended after step 100 (epoch 2.00) in 1 min 15 s: length reached; best val/loss 0.01 at step 80\n");
}

TEST_F(PlainConsole, PrintsEventsThatItDoesNotKnow) {
  open();
  EXPECT_EQ(event("start", {}, "training on 2 ranks"),
            "start at step 100 (epoch 2.00): training on 2 ranks\n");
  EXPECT_EQ(event("cache", {{"cache/gib", 3}}, ""), "cache at step 100 (epoch 2.00): cache/gib 3\n");
}

TEST_F(PlainConsole, IsQuietButForWarningsAndErrorsWhenAsked) {
  options_.quiet = true;
  open();
  EXPECT_THAT(step(1), IsEmpty());
  EXPECT_THAT(event("validation", {{"val/loss", 1}}, ""), IsEmpty());
  EXPECT_THAT(event("checkpoint", {}, ""), IsEmpty());
  EXPECT_THAT(event("end", {}, "length reached"), IsEmpty());
  EXPECT_EQ(event("warning", {}, "careful"), "warning: careful\n");
}

TEST_F(PlainConsole, SurvivesAReaderWhoHasGone) {
  open();
  screen_.close_reader();
  for (int i = 0; i < 3; ++i) console_->event({i, 0, 0}, "warning", {}, "nobody listens");
}

TEST_F(PlainConsole, DoesNotWaitForAReaderWhoIsBusy) {
  open();
  const std::string words(1000, 'x');
  // Far more than a pipe holds: a console that waits would hang here.
  for (int i = 0; i < 1000; ++i) console_->event({i, 0, 0}, "warning", {}, words);
  EXPECT_THAT(screen_.take(), HasSubstr(words));
  EXPECT_THAT(event("warning", {}, "again"), HasSubstr("again"));
}

class LiveConsole : public ConsoleTest {
 protected:
  LiveConsole() : ConsoleTest(60) { options_.live = true; }
};

TEST_F(LiveConsole, RewritesOneLineInPlace) {
  open();
  EXPECT_EQ(step(1), "\r\x1b[Kstep 1/1000 (0 %)  loss 0.5  80 examples/s  data wait 0 %");
  clock_.sleep(1);
  EXPECT_EQ(step(2), "\r\x1b[Kstep 2/1000 (0 %)  loss 0.5  80 examples/s  ETA 16 min 38 s");
}

TEST_F(LiveConsole, RedrawsOnlyAsOftenAsAnEyeCanFollow) {
  open();
  int redraws = 0;
  for (int64_t number = 10; number < 1000; ++number) {
    clock_.sleep(0.001);
    redraws += count(step(number), "\r");
  }
  EXPECT_GE(redraws, 8);
  EXPECT_LE(redraws, 11);
}

TEST_F(LiveConsole, ClearsTheLineBeforeAnotherIsPrinted) {
  open();
  step(1);
  EXPECT_EQ(event("warning", {}, "careful"), "\r\x1b[Kwarning: careful\n");
  EXPECT_EQ(event("checkpoint", {}, ""), "checkpoint of step 100 saved\n");
}

TEST_F(LiveConsole, LeavesTheLastStateOnALineOfItsOwn) {
  open();
  step(1);
  console_.reset();
  EXPECT_EQ(screen_.take(), "\n");
}

TEST_F(LiveConsole, ColorsWarningsOnlyWhenColorIsWanted) {
  options_.color = true;
  open();
  EXPECT_EQ(event("warning", {}, "careful"), "\x1b[33mwarning: careful\x1b[0m\n");
  EXPECT_EQ(event("error", {}, "no more"), "\x1b[31merror: no more\x1b[0m\n");
}

}  // namespace
}  // namespace larmor
