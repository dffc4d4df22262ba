#include <cmath>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/fenced_storage.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/track/tracker.h"

#include "tests/track/support/collecting.h"

namespace larmor {
namespace {

using ::testing::SizeIs;

class EventLog : public ::testing::Test {
 protected:
  std::unique_ptr<Tracker> open(int64_t generation = 0) {
    return make_event_log(disk_, clock_, file(), generation);
  }
  std::filesystem::path file() const { return scratch_.path() / "events.jsonl"; }
  void write(const std::string& content) { std::ofstream(file()) << content; }
  std::vector<Json> events() const {
    std::vector<Json> all;
    for (const std::string& line : lines_of(file())) all.push_back(parse_json(line, "events.jsonl"));
    return all;
  }

  DiskStorage disk_;
  ManualClock clock_;

 private:
  ScratchFolder scratch_;
};

TEST_F(EventLog, TellsWhatARunIsAtItsStart) {
  open(3)->start({.step = 7, .epoch = 0.5, .examples = 28}, {.name = "trial", .facts = {{"ranks", 2}}});
  const Json event = events().at(0);
  EXPECT_EQ(event["kind"], "start");
  EXPECT_EQ(event["text"], "trial");
  EXPECT_EQ(event["facts"]["ranks"], 2);
  EXPECT_EQ(event["step"], 7);
  EXPECT_TRUE(event["values"].empty());
}

TEST_F(EventLog, WritesOneObjectALineWithTheKeysInTheirOrder) {
  clock_.set(1700000000.25);
  open(3)->event({120, 1.5, 960}, "step", {{"train/loss", 0.125}, {"perf/step_ms", 81}}, "");
  EXPECT_EQ(read_text(file()),
            R"({"t":1700000000.25,"generation":3,"step":120,"epoch":1.5,"examples":960,"kind":"step",)"
            R"("values":{"perf/step_ms":81.0,"train/loss":0.125}})"
            "\n");
}

TEST_F(EventLog, HandsEachLineToTheSystemAtOnce) {
  const auto log = open();
  log->event({1, 0, 8}, "step", {}, "");
  EXPECT_THAT(events(), SizeIs(1));
  log->event({2, 0, 16}, "step", {}, "");
  EXPECT_THAT(events(), SizeIs(2));
}

TEST_F(EventLog, CarriesTextWhereThereIsSome) {
  const auto log = open();
  log->event({1, 0, 8}, "warning", {}, "three\nlines with \"quotes\" and \xff");
  log->event({1, 0, 8}, "step", {}, "");
  EXPECT_EQ(events()[0]["text"], "three\nlines with \"quotes\" and \xef\xbf\xbd");
  EXPECT_FALSE(events()[1].contains("text"));
}

TEST_F(EventLog, WritesNumbersThatReadBackTheSame) {
  const Values values = {
      {"a", 0.1}, {"b", 1.0 / 3}, {"c", 5e-324}, {"d", 1.7976931348623157e308}, {"e", -0.0}};
  open()->event({1, 0.1 + 0.2, 8}, "step", values, "");
  const Json event = events()[0];
  for (const auto& [name, value] : values) EXPECT_EQ(event["values"][name].get<double>(), value);
  EXPECT_TRUE(std::signbit(event["values"]["e"].get<double>()));
  EXPECT_EQ(event["epoch"].get<double>(), 0.1 + 0.2);
}

TEST_F(EventLog, WritesNullForWhatIsNotFinite) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  open()->event({1, 0, 8}, "step", {{"a", infinity}, {"b", -infinity}, {"c", std::nan("")}}, "");
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(events()[0]["values"][name].is_null());
}

TEST_F(EventLog, AppendsToWhatEarlierGenerationsWrote) {
  open(0)->event({1, 0, 8}, "step", {}, "");
  open(1)->event({1, 0, 8}, "step", {}, "");
  ASSERT_THAT(events(), SizeIs(2));
  EXPECT_EQ(events()[0]["generation"], 0);
  EXPECT_EQ(events()[1]["generation"], 1);
}

TEST_F(EventLog, BeginsANewLineAfterATornOne) {
  write("{\"t\":1}\n{\"t\":2,\"gener");
  open(1)->event({1, 0, 8}, "step", {}, "");
  const auto lines = lines_of(file());
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[1], "{\"t\":2,\"gener");
  EXPECT_EQ(parse_json(lines[2], "line 3")["generation"], 1);
}

TEST_F(EventLog, RefusesToStartWhereItCannotWrite) {
  EXPECT_THROW(make_event_log(disk_, clock_, "/no/such/folder/events.jsonl", 0), Error);
}

TEST_F(EventLog, WarnsOnceOfAFullDiskAndLetsTrainingGoOn) {
  FullDisk disk("write");
  const auto log = make_event_log(disk.storage, clock_, file(), 0);
  log->event({1, 0, 8}, "step", {}, "");
  ::testing::internal::CaptureStderr();
  disk.is_full = true;
  for (int step = 2; step < 10; ++step) EXPECT_NO_THROW(log->event({step, 0, 8}, "step", {}, ""));
  EXPECT_NO_THROW(log->flush());
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(count(said, "training goes on without events.jsonl: No space left on device"), 1) << said;
  EXPECT_EQ(count(said, "warning"), 1) << said;
  EXPECT_THAT(events(), SizeIs(1));
}

TEST_F(EventLog, GoesOnWritingWhenTheDiskHasRoomAgain) {
  FullDisk disk("write");
  const auto log = make_event_log(disk.storage, clock_, file(), 0);
  disk.is_full = true;
  ::testing::internal::CaptureStderr();
  log->event({1, 0, 8}, "step", {}, "");
  ::testing::internal::GetCapturedStderr();
  // A disk may fill in the middle of a line.
  write("{\"t\":0.0,\"gen");
  disk.is_full = false;
  log->event({2, 0, 8}, "step", {}, "");
  log->event({3, 0, 8}, "step", {}, "");
  const auto lines = lines_of(file());
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(parse_json(lines[1], "line 2")["step"], 2);
  EXPECT_EQ(parse_json(lines[2], "line 3")["step"], 3);
}

TEST_F(EventLog, TellsTheLoopThatTheRunWentOnWithoutIt) {
  const auto fence = file().parent_path() / ".generation";
  FencedStorage fenced(std::make_unique<DiskStorage>(), fence, 3);
  const auto log = make_event_log(fenced, clock_, file(), 3);
  log->event({1, 0, 8}, "step", {}, "");
  raise_fence(disk_, fence, 4);
  try {
    log->event({2, 0, 16}, "step", {}, "");
    ADD_FAILURE() << "it was taken for a full disk";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::rank_lost);
  }
  EXPECT_THAT(events(), SizeIs(1));
}

TEST_F(EventLog, SyncsWhenFlushed) {
  FullDisk disk("sync");
  const auto log = make_event_log(disk.storage, clock_, file(), 0);
  log->flush();
  EXPECT_EQ(disk.storage.operations().back().name, "sync");
}

class NextGeneration : public EventLog {};

TEST_F(NextGeneration, IsZeroWhereNothingWasWritten) {
  EXPECT_EQ(next_generation(file()), 0);
  write("");
  EXPECT_EQ(next_generation(file()), 0);
}

TEST_F(NextGeneration, FollowsTheLargestThatWasWritten) {
  open(4)->event({1, 0, 8}, "step", {}, "");
  open(11)->event({1, 0, 8}, "step", {}, "");
  open(5)->event({1, 0, 8}, "step", {}, "");
  EXPECT_EQ(next_generation(file()), 12);
}

TEST_F(NextGeneration, IgnoresTornLines) {
  write("{\"t\":1,\"generation\":2,\"step\":1}\n{\"t\":1,\"generation\":7\n{\"t\":1,\"generation\":9}");
  EXPECT_EQ(next_generation(file()), 3);
}

TEST_F(NextGeneration, IsNotFooledByText) {
  open(1)->event({1, 0, 8}, "warning", {}, "\"generation\":99");
  write(read_text(file()) + "not JSON at all}\n{\"text\":\"\\\"generation\\\":50\",\"generation\": 2}\n");
  EXPECT_EQ(next_generation(file()), 3);
}

}  // namespace
}  // namespace larmor
