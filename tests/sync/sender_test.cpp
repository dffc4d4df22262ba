#include "larmor/sync/sender.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/text.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// What a service has been told of all its runs.
struct Told {
  std::vector<std::string> keys, pictures;
  std::vector<int64_t> steps;
  std::vector<RunState> states;
  int opened = 0;
  int fails_from = -1, fails_until = -1;  // which calls of send() fail, counted over all senders
  int calls = 0;
  std::set<int> also_fail;
  bool refuses = false;
};

class ToldRun final : public ServiceRun {
 public:
  explicit ToldRun(Told& told) : told_(told) { ++told.opened; }
  std::string place() const override { return "there"; }
  void send(std::span<const SentEvent> events) override {
    const int call = told_.calls++;
    const bool fails = call >= told_.fails_from && call < told_.fails_until;
    if (fails || told_.also_fail.contains(call)) throw ServiceUnreachable("gone");
    for (const auto& event : events) told_.steps.push_back(event.step);
  }
  void send(const SentPicture& picture) override {
    told_.pictures.push_back(text(picture.name, '@', picture.step));
  }
  void tell(RunState state) override { told_.states.push_back(state); }

 private:
  Told& told_;
};

class Sender : public ::testing::Test {
 protected:
  Sender() {
    std::filesystem::create_directories(folder_.root);
    put("config.yaml", "");
    put("environment.json",
        R"({"workload": "survival", "stage": "survival", "services": {"told": {"to": "here"}}})");
  }

  void put(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((folder_.root / name).parent_path());
    std::ofstream(folder_.root / name) << content;
  }
  void log(const std::string& lines) const { std::ofstream(folder_.events(), std::ios::app) << lines; }
  void log_steps(int64_t first, int64_t last) const {
    for (auto step = first; step <= last; ++step)
      log(text(R"({"t":1,"generation":0,"step":)", step, R"(,"kind":"step","values":{"train/loss":0.5}})",
               "\n"));
  }
  TrackingService service(double settles_after = 0) {
    return {.name = "told",
            .title = "Told",
            .keys = {{.name = "to", .help = ""}},
            .turned_on_by = "to",
            .settles_after = settles_after,
            .check = [](const ServiceSettings&) {},
            .open =
                [this](const ServiceSettings&, const RunIntroduction& run) {
                  if (told_.refuses) fail(Exit::environment, "the key is refused");
                  told_.keys.push_back(run.key);
                  return std::make_unique<ToldRun>(told_);
                }};
  }
  SyncSummary sync(const SyncOptions& options = {}, const std::vector<std::string>& words = {},
                   double settles_after = 0) {
    const auto to = service(settles_after);
    return sync_run(folder_, to, settings_of_run(folder_, to, words), storage_, clock_, options);
  }
  static std::vector<int64_t> counted(int64_t first, int64_t last) {
    std::vector<int64_t> steps;
    for (auto step = first; step <= last; ++step) steps.push_back(step);
    return steps;
  }

  ScratchFolder scratch_;
  RunFolder folder_{scratch_.path() / "a-run"};
  DiskStorage storage_;
  ManualClock clock_;
  Told told_;
};

TEST_F(Sender, SendsEachLineOnceHoweverOftenItIsCalled) {
  log_steps(1, 500);
  EXPECT_EQ(sync().events, 500);
  EXPECT_EQ(sync().events, 0);
  log_steps(501, 503);
  EXPECT_EQ(sync().events, 3);
  EXPECT_EQ(told_.steps, counted(1, 503));
  EXPECT_EQ(std::set(told_.keys.begin(), told_.keys.end()).size(), 1U) << "it is one run";
}

TEST_F(Sender, LeavesALineAloneUntilItIsWhole) {
  log_steps(1, 2);
  log(R"({"t":1,"generation":0,"step":3,"kind":"st)");
  EXPECT_EQ(sync().events, 2);
  log(R"(ep","values":{"train/loss":1}})"
      "\n");
  EXPECT_EQ(sync().events, 1);
  log("{\"cut off\n");  // the last line of a writer that was killed, which the next one has ended
  log_steps(4, 4);
  const auto summary = sync();
  EXPECT_EQ(summary.events, 1);
  EXPECT_EQ(summary.unread_lines, 1);
  EXPECT_EQ(told_.steps, counted(1, 4));
}

TEST_F(Sender, LosesNothingToAServerThatIsGoneForAWhile) {
  log_steps(1, 1000);
  told_.fails_from = 2;
  told_.fails_until = 5;
  std::vector<std::string> silences;
  sync({.on_silence = [&](const std::string& reason) { silences.push_back(reason); }, .patience = 60});
  EXPECT_EQ(told_.steps, counted(1, 1000));
  EXPECT_THAT(silences, ElementsAre("gone")) << "it is said once";
  EXPECT_EQ(clock_.steady_seconds(), 1 + 2 + 4);
}

TEST_F(Sender, GivesUpAServerThatStaysAwayAndTheNextOneGoesOn) {
  log_steps(1, 1000);
  told_.fails_from = 2;
  told_.fails_until = 1'000'000;
  try {
    sync({.patience = 30});
    FAIL() << "nobody has answered";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.hint(), HasSubstr("larmor sync"));
  }
  EXPECT_LT(clock_.steady_seconds(), 31);
  told_.fails_until = -1;
  sync();
  EXPECT_EQ(told_.steps, counted(1, 1000));
}

TEST_F(Sender, EndsWhenTheRunFolderIsGone) {
  log_steps(1, 3);
  told_.fails_from = 0;
  told_.fails_until = 100;
  int asked = 0;
  const auto is_trained = [&] {
    if (++asked == 3) std::filesystem::remove_all(folder_.root);
    return true;
  };
  try {
    sync({.is_trained = is_trained, .patience = 600});
    FAIL() << "it waits for ever";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::environment);
    EXPECT_THAT(error.message(), HasSubstr("a-run is gone"));
  }
  EXPECT_EQ(asked, 3);
}

TEST_F(Sender, WaitsForMoreAsLongAsTheRunIsTrained) {
  log_steps(1, 10);
  int looks = 0;
  sync({.is_trained = [&] {
    if (++looks == 5) log_steps(11, 20);
    if (looks == 9) log_steps(21, 30);
    return looks < 9;
  }});
  EXPECT_EQ(told_.steps, counted(1, 30));
  EXPECT_THAT(told_.states, ElementsAre(RunState::training, RunState::stopped));
}

TEST_F(Sender, TellsHowTheRunHasEnded) {
  log_steps(1, 1);
  put("DONE", "");
  sync();
  EXPECT_EQ(told_.states.back(), RunState::done);
  std::filesystem::remove(folder_.root / "DONE");
  put("FAILED", "why");
  sync();
  EXPECT_EQ(told_.states.back(), RunState::failed);
}

TEST_F(Sender, SendsAPictureOnce) {
  log_steps(1, 1);
  put("pictures/samples-00000010.png", "png");
  sync();
  put("pictures/samples-00000020.png", "png");
  put("pictures/evaluate-val/roc.png", "png");
  EXPECT_EQ(sync().pictures, 1) << "those of an evaluation belong to no step";
  EXPECT_THAT(told_.pictures, ElementsAre("samples@10", "samples@20"));
}

TEST_F(Sender, BeginsAnewWhereTheRunHasNotBeenSentTo) {
  log_steps(1, 3);
  sync();
  EXPECT_EQ(sync({}, {"track.told.to=elsewhere"}).events, 3);
  EXPECT_EQ(told_.keys.front(), told_.keys.back());
  EXPECT_THROW(sync({}, {"track.told.two=1"}), Error);
  EXPECT_THROW(sync({}, {"train.length=1"}), Error);
}

/// The service takes events and writes them later: what it may not have written is sent once more.
TEST_F(Sender, KeepsThePlaceOfWhatHasSettled) {
  log_steps(1, 100);
  told_.fails_from = 1;
  told_.fails_until = 2;
  int looks = 0;
  sync({.is_trained =
            [&] {
              if (++looks == 3) log_steps(101, 110);
              return looks < 6;
            },
        .patience = 60},
       {}, 30);
  const std::set<int64_t> all(told_.steps.begin(), told_.steps.end());
  EXPECT_EQ(all.size(), 110U);
  EXPECT_GT(told_.steps.size(), 110U) << "the first hundred had not settled when the service went away";
  const auto before = told_.steps.size();
  sync({}, {}, 30);
  EXPECT_EQ(told_.steps.size(), before) << "at a run's end all is kept";
}

TEST_F(Sender, HasTheRunForItself) {
  log_steps(1, 1);
  std::filesystem::create_directories(folder_.sync());
  const FileLock other(folder_.sync() / "told.lock");
  try {
    sync();
    FAIL() << "another sender has the run";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("is held by"));
  }
}

TEST_F(Sender, OfARunThatGoesOnWaitsForTheSenderOfTheStartBefore) {
  log_steps(1, 3);
  std::filesystem::create_directories(folder_.sync());
  std::optional<FileLock> other(std::in_place, folder_.sync() / "told.lock");
  int looks = 0;
  std::vector<std::string> silences;
  sync({.is_trained =
            [&] {
              if (++looks == 3) other.reset();
              return looks < 6;
            },
        .waits_for_other_sender = true,
        .on_silence = [&](const std::string& reason) { silences.push_back(reason); }});
  EXPECT_EQ(told_.steps, counted(1, 3));
  EXPECT_THAT(silences, ElementsAre(HasSubstr("is held by")));
}

TEST_F(Sender, CountsEachSilenceByItself) {
  log_steps(1, 1600);
  told_.also_fail = {1, 2, 5, 6};
  sync({.patience = 4});
  EXPECT_EQ(told_.steps, counted(1, 1600));
  EXPECT_EQ(clock_.steady_seconds(), 1 + 2 + 1 + 2);
}

TEST_F(Sender, PassesOnARefusal) {
  log_steps(1, 1);
  told_.refuses = true;
  EXPECT_THROW(sync({.patience = 60}), Error);
  told_.refuses = false;
  EXPECT_EQ(sync().events, 1);
}

}  // namespace
}  // namespace larmor::testing
