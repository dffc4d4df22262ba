// A run that knows when it will be ended stops before that, with a checkpoint.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/clock.h"
#include "larmor/base/text.h"

#include "tests/processes/support/small_training.h"
#include "tests/processes/support/trained_state.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int stopped = 75, usage = 2;
constexpr int many_steps = 100'000;

class StopBefore : public ::testing::TestWithParam<int> {
 protected:
  std::filesystem::path run(const std::string& name) const { return scratch_.path() / "runs" / name; }
  ProgramOptions here() const { return {.folder = scratch_.path()}; }
  /// A start whose rank 0 needs longer for each save.
  ProgramOptions with_slow_saves() const {
    auto options = here();
    options.environment = {{"LARMOR_FAULT", "rank=0 phase=saving do=slow"}};
    return options;
  }
  static std::vector<std::string> limited(std::vector<std::string> words, int64_t steps) {
    words.insert(words.end(), {"--steps", text(steps)});
    return words;
  }

  ScratchFolder scratch_;
};

TEST_P(StopBefore, EndsTheRunInTimeAndItGoesOnInTheSameBits) {
  const SystemClock clock;
  // 10 s for the save and 5 s of margin are always left; the rest is for the start and some steps.
  const double end_at = clock.wall_seconds() + 24;
  const auto words = small_training("timed", GetParam(), many_steps);
  auto timed = words;
  timed.push_back("train.stop_before=" + utc_text(end_at));
  const auto first = larmor_program(timed, with_slow_saves());
  EXPECT_EQ(first.status, stopped) << first.err;
  EXPECT_LT(clock.wall_seconds(), end_at);
  EXPECT_THAT(first.err, HasSubstr("stopped with a complete checkpoint"));
  EXPECT_FALSE(std::filesystem::exists(run("timed") / "FAILED"));
  const auto end = events_of(run("timed"), "end");
  ASSERT_EQ(end.size(), 1U);
  EXPECT_THAT(end[0].at("text").get<std::string>(), StartsWith("stopped before 20"));
  const auto steps = end[0].at("step").get<int64_t>();
  EXPECT_GT(steps, 1);
  EXPECT_EQ(trained_state(run("timed")).steps.size(), static_cast<size_t>(steps));
  EXPECT_THAT(checkpoint_names(run("timed")).back(), HasSubstr(text(steps)));
  EXPECT_EQ(larmor_program({"checkpoint", "verify", "timed"}, here()).status, 0);

  const auto again =
      larmor_program(limited({"train", "timed", "train.stop_before=never"}, steps + 6), here());
  ASSERT_EQ(again.status, 0) << again.err;
  auto whole = with(words, "run.name", "whole");
  ASSERT_EQ(larmor_program(limited(whole, steps + 6), here()).status, 0);
  EXPECT_EQ(trained_state(run("timed")), trained_state(run("whole")));
}

TEST_P(StopBefore, ATimeThatIsOverIsRefusedBeforeAnythingIsThere) {
  auto words = small_training("late", GetParam());
  words.emplace_back("train.stop_before=2020-01-01T00:00:00Z");
  const auto end = larmor_program(words, here());
  EXPECT_EQ(end.status, usage) << end.err;
  EXPECT_THAT(end.err, HasSubstr("train.stop_before is 2020-01-01T00:00:00Z, and it is 20"));
  EXPECT_FALSE(std::filesystem::exists(run("late")));
}

INSTANTIATE_TEST_SUITE_P(Ranks, StopBefore, ::testing::Values(1, 2));

TEST(StopBeforeTheJob, EndsARankOfAJobWhoseEndIsKnown) {
  const ScratchFolder scratch;
  const ProgramOptions here{.folder = scratch.path()};
  const auto run = scratch.path() / "runs" / "run";
  auto words = small_training("run", 1, many_steps);
  words.insert(words.end(), {"--steps", "1"});
  ASSERT_EQ(larmor_program(words, here).status, 0);
  auto options = here;
  const double end_at = SystemClock().wall_seconds() + 20;
  options.environment = {{"LARMOR_RANK", "0"},        {"LARMOR_WORLD_SIZE", "1"},
                         {"LARMOR_LOCAL_RANK", "0"},  {"LARMOR_LOCAL_WORLD_SIZE", "1"},
                         {"LARMOR_GENERATION", "0"},  {"LARMOR_MASTER_ADDR", "127.0.0.1"},
                         {"LARMOR_MASTER_PORT", "9"}, {"LARMOR_JOB_END", fixed(end_at, 0)},
                         {"OMP_NUM_THREADS", "1"}};
  const auto end = larmor_program(
      {"train", run.string(), "--resume", (run / "checkpoints" / "step-00000001").string()}, options);
  EXPECT_EQ(end.status, stopped) << end.err;
  EXPECT_LT(SystemClock().wall_seconds(), end_at);
  EXPECT_THAT(events_of(run, "end").back().at("text").get<std::string>(),
              StartsWith("stopped before the end of the job at "));
}

}  // namespace
}  // namespace larmor::testing
