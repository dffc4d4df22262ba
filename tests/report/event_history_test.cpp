#include "larmor/report/event_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/files/file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/files/storage.h"
#include "larmor/base/text.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class EventsOfARun : public ::testing::Test {
 protected:
  void log(double time, int64_t generation, int64_t step, const std::string& kind,
           const Json& values = Json::object(), const std::string& words = "") {
    Json line = {{"t", time}, {"generation", generation}, {"step", step}, {"kind", kind}, {"values", values}};
    if (!words.empty()) line["text"] = words;
    if (kind == "start") line["facts"] = {{"ranks", generation + 1}};
    lines_ += line.dump() + "\n";
  }
  void log_step(double time, int64_t generation, int64_t step, double loss, double milliseconds = 1000) {
    log(time, generation, step, "step",
        {{"train/loss", loss}, {"perf/step_ms", milliseconds}, {"perf/data_wait", 0.25}});
  }
  EventHistory read() {
    DiskStorage disk;
    write_text(disk, file(), lines_);
    return read_events(file());
  }
  std::filesystem::path file() const { return scratch_.path() / "events.jsonl"; }

  std::string lines_;

 private:
  ScratchFolder scratch_;
};

TEST_F(EventsOfARun, SayWhereTheTimeWent) {
  log(100, 0, 0, "start");
  log_step(103, 0, 1, 3);  // two seconds pass before this step begins
  log_step(104, 0, 2, 2);
  log(109, 0, 2, "validation", {{"val/loss", 2.5}});
  log(110, 0, 2, "checkpoint", {{"perf/save_stall_seconds", 0.5}});
  log(160, 1, 2, "start");
  log_step(162, 1, 3, 1);
  const auto time = read().time;
  EXPECT_DOUBLE_EQ(time.computing, 2.25);
  EXPECT_DOUBLE_EQ(time.waiting_for_data, 0.75);
  EXPECT_DOUBLE_EQ(time.validating, 5);
  EXPECT_DOUBLE_EQ(time.saving, 0.5);
  EXPECT_DOUBLE_EQ(time.starting, 3);
  EXPECT_DOUBLE_EQ(time.standing, 50);
}

TEST_F(EventsOfARun, GiveCurvesInWhichStepsThatWereDoneAgainStandOnce) {
  log(1, 0, 0, "start");
  for (int step = 1; step <= 3; ++step) log_step(step, 0, step, step);
  log(9, 1, 1, "start");
  log_step(10, 1, 2, 20);
  const auto history = read();
  EXPECT_THAT(history.curves.at("train/loss").points(), ElementsAre(Pair(1, 1), Pair(2, 20)));
  EXPECT_EQ(history.starts, 2);
  EXPECT_EQ(history.last_step, 2);
  EXPECT_EQ(history.facts["ranks"], 2);
}

TEST_F(EventsOfARun, LeaveOutValuesThatAreNoNumbersAndCountLinesThatCannotBeRead) {
  log(1, 0, 1, "step", {{"train/loss", nullptr}, {"optim/grad_norm", 2}});
  log(2, 0, 1, "news", Json::object(), "of a later version");
  lines_ += "[1, 2]\n\nnot json\n{\"t\": 3, \"gener";
  const auto history = read();
  EXPECT_FALSE(history.curves.contains("train/loss"));
  EXPECT_TRUE(history.curves.contains("optim/grad_norm"));
  EXPECT_EQ(history.unread_lines, 4);
  ASSERT_EQ(history.happenings.size(), 1U);
  EXPECT_EQ(history.happenings[0].kind, "news");
  EXPECT_EQ(history.happenings[0].words, "of a later version");
}

TEST_F(EventsOfARun, KeepTheFirstAndTheLastOfManyWarnings) {
  for (int i = 0; i < 1000; ++i) log(i, 0, i, "warning", Json::object(), text("warning ", i));
  const auto history = read();
  EXPECT_EQ(history.happenings.size(), 400U);
  EXPECT_EQ(history.happenings_left_out, 600);
  EXPECT_EQ(history.happenings.front().words, "warning 0");
  EXPECT_EQ(history.happenings.back().words, "warning 999");
}

TEST_F(EventsOfARun, AreNoneWhereThereIsNoFile) {
  const auto history = read_events(file());
  EXPECT_EQ(history.starts, 0);
  EXPECT_FALSE(history.began);
}

}  // namespace
}  // namespace larmor
