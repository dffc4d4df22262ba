#include <cmath>
#include <cstdlib>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/files/fenced_storage.h"
#include "larmor/base/files/file.h"
#include "larmor/base/json.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/track/tracker.h"

#include "tests/track/support/collecting.h"
#include "tests/track/support/event_file.h"

namespace larmor {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const Image tensorboard_picture{.width = 2, .height = 1, .channels = 3, .pixels = {0, 255, 0, 9, 8, 7}};

class TensorBoard : public ::testing::Test {
 protected:
  TensorBoard() { clock_.set(1700000000.5); }
  std::unique_ptr<Tracker> open() { return make_tensorboard(disk_, clock_, folder()); }
  std::filesystem::path folder() const { return scratch_.path() / "tb"; }

  DiskStorage disk_;
  ManualClock clock_;
  ScratchFolder scratch_;
};

TEST_F(TensorBoard, NamesItsFileByTimeHostAndProcess) {
  open();
  EXPECT_TRUE(std::filesystem::exists(folder() /
                                      text("events.out.tfevents.1700000000.", host_name(), ".", getpid())));
}

TEST_F(TensorBoard, BeginsWithTheVersionOfTheFormat) {
  open();
  const auto events = read_event_folder(folder());
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[0].wall_seconds, 1700000000.5);
}

TEST_F(TensorBoard, CarriesTheValuesUnderTheirNames) {
  open()->event({120, 1, 960}, "step", {{"train/loss", 0.1}, {"perf/data_wait", 0.5}}, "");
  const DecodedEvent event = read_event_folder(folder()).back();
  EXPECT_EQ(event.step, 120);
  EXPECT_THAT(event.scalars, SizeIs(2));
  EXPECT_EQ(event.scalars.at("train/loss"), 0.1F);
  EXPECT_EQ(event.scalars.at("perf/data_wait"), 0.5F);
}

TEST_F(TensorBoard, CarriesPicturesAsImageSummaries) {
  open()->picture({7, 1, 56}, "reconstruction", tensorboard_picture);
  const DecodedEvent event = read_event_folder(folder()).back();
  EXPECT_EQ(event.step, 7);
  const auto& decoded = event.pictures.at("reconstruction");
  EXPECT_EQ(decoded.width, 2U);
  EXPECT_EQ(decoded.height, 1U);
  EXPECT_EQ(decoded.channels, 3U);
  EXPECT_EQ(decoded.png, encode_png(tensorboard_picture));
}

TEST_F(TensorBoard, TellsReadersToForgetWhatAnInterruptedProcessWroteForTheSameSteps) {
  const auto board = open();
  board->event({40, 1, 320}, "start", {}, "");
  board->event({41, 1, 328}, "step", {{"train/loss", 1}}, "");
  board->event({42, 1, 336}, "step", {{"train/loss", 1}}, "");
  board->flush();
  const auto events = read_event_folder(folder());
  ASSERT_THAT(events, SizeIs(4));
  EXPECT_TRUE(events[1].is_restart);
  EXPECT_EQ(events[1].step, 41);
  EXPECT_FALSE(events[3].is_restart);
}

TEST_F(TensorBoard, WritesStepsEveryFewSecondsAndAllElseAtOnce) {
  const auto board = open();
  const auto step = [&](int64_t number) { board->event({number, 0, 0}, "step", {{"train/loss", 1}}, ""); };
  step(1);
  EXPECT_THAT(read_event_folder(folder()), SizeIs(1));
  clock_.sleep(3);
  step(2);
  EXPECT_EQ(read_event_folder(folder()).back().step, 2);
  step(3);
  EXPECT_EQ(read_event_folder(folder()).back().step, 2);
  board->event({3, 0, 0}, "validation", {{"val/loss", 1}}, "");
  EXPECT_EQ(read_event_folder(folder()).back().scalars.count("val/loss"), 1U);
}

TEST_F(TensorBoard, WritesNothingForAnEventWithoutValues) {
  open()->event({5, 0, 0}, "warning", {}, "words");
  EXPECT_THAT(read_event_folder(folder()), SizeIs(1));
}

TEST_F(TensorBoard, WarnsOnceOfAFullDiskAndLetsTrainingGoOn) {
  FullDisk disk("write");
  const auto board = make_tensorboard(disk.storage, clock_, folder());
  disk.is_full = true;
  ::testing::internal::CaptureStderr();
  for (int step = 1; step < 5; ++step) {
    clock_.sleep(10);
    EXPECT_NO_THROW(board->event({step, 0, 0}, "step", {{"a", 1}}, ""));
    EXPECT_NO_THROW(board->picture({step, 0, 0}, "face", tensorboard_picture));
  }
  EXPECT_NO_THROW(board->flush());
  EXPECT_EQ(count(::testing::internal::GetCapturedStderr(), "training goes on without TensorBoard"), 1);
}

TEST_F(TensorBoard, AddsNothingBehindARecordThatMayBeTorn) {
  FullDisk disk("write");
  const auto board = make_tensorboard(disk.storage, clock_, folder());
  disk.is_full = true;
  ::testing::internal::CaptureStderr();
  board->event({1, 0, 0}, "validation", {{"a", 1}}, "");
  ::testing::internal::GetCapturedStderr();
  disk.is_full = false;
  board->event({2, 0, 0}, "validation", {{"a", 1}}, "");
  board->flush();
  EXPECT_THAT(read_event_folder(folder()), SizeIs(1));
}

TEST_F(TensorBoard, CanBeTakenDownWhenTheRunWentOnWithoutIt) {
  const auto fence = folder().parent_path() / ".generation";
  FencedStorage fenced(std::make_unique<DiskStorage>(), fence, 0);
  {
    const auto sink = make_tensorboard(fenced, clock_, folder());
    DiskStorage disk;
    raise_fence(disk, fence, 1);
    sink->event({1, 0, 0}, "step", {{"train/loss", 0.5}}, "");  // waits to be written
    EXPECT_THROW(sink->event({1, 0, 0}, "validation", {{"val/loss", 0.5}}, ""), Error);
  }
}

TEST_F(TensorBoard, RefusesToStartWhereItCannotWrite) {
  EXPECT_THROW(make_tensorboard(disk_, clock_, "/dev/null/tb"), Error);
}

/// What TensorBoard itself makes of the folder.
Json read_with_tensorboard(const std::filesystem::path& python, const std::filesystem::path& folder) {
  const char* source = std::getenv("LARMOR_SOURCE");
  const std::filesystem::path script =
      std::filesystem::path(source ? source : ".") / "tests/peers/tensorboard_events.py";
  const std::filesystem::path answer = folder.parent_path() / "answer.json";
  ProcessOptions options;
  options.program = python;
  options.arguments = {script.string(), folder.string()};
  const int output = open(answer.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  options.standard_out = output;
  const Ending ending = Process::start(options).wait();
  close(output);
  EXPECT_TRUE(ending.ok()) << ending.describe();
  return read_json(answer);
}

TEST_F(TensorBoard, IsReadByTensorBoardItself) {
  const char* oracles = std::getenv("LARMOR_ORACLES");
  if (!oracles) GTEST_SKIP() << "LARMOR_ORACLES names no Python environment with tensorboard in it";
  {
    const auto first = open();
    for (int64_t step = 1; step <= 3; ++step) first->event({step, 0, 0}, "step", {{"train/loss", 0.5}}, "");
  }
  clock_.sleep(5);
  {
    const auto second = open();
    second->event({3, 0, 0}, "step", {{"train/loss", 0.25}, {"train/kl", std::nan("")}}, "");
    second->picture({3, 0, 0}, "reconstruction", tensorboard_picture);
  }
  const Json read = read_with_tensorboard(std::filesystem::path(oracles) / "bin/python", folder());
  EXPECT_EQ(read["file_version"], 2.0);
  const Json losses = Json::array({{1, 1700000000.5, 0.5}, {2, 1700000000.5, 0.5}, {3, 1700000005.5, 0.25}});
  EXPECT_EQ(read["scalars"]["train/loss"], losses);
  EXPECT_EQ(read["scalars"]["train/kl"], Json::array({{3, 1700000005.5, "nan"}}));
  const Json& image = read["images"]["reconstruction"][0];
  EXPECT_EQ(image[0], 3);
  EXPECT_EQ(image[1], 2);
  EXPECT_EQ(image[2], 1);
  EXPECT_TRUE(image[3].get<std::string>().starts_with("89504e47"));
}

}  // namespace
}  // namespace larmor
