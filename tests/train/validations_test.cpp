#include "larmor/train/validations.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/train/snapshot.h"

#include "tests/train/support/small_loop.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

struct ValidationsOfOne {
  explicit ValidationsOfOne(Communicator& communicator, const SmallLoopOptions& options = {})
      : small(communicator, options),
        feed(at::kCPU, small.plan.precision),
        saves(
            small.checkpoints, small.clock,
            [this] { return take_snapshot(small.task, small.learners, small.loop.state, /*rank=*/0); }, -1),
        stops(small.loop, saves),
        validations(small.loop, feed, stops, saves) {
    small.loop.state.progress.step = 2;
  }
  std::vector<CheckpointEntry> saved() const {
    return list_checkpoints(small.scratch.path() / "checkpoints", /*verify=*/false);
  }

  SmallLoop small;
  BatchFeed feed;
  Saves saves;
  Stops stops;
  Validations validations;
};

TEST(Validations, GiveTheMetricTellItAndSaveWhatIsBest) {
  const auto solo = make_solo();
  ValidationsOfOne one(*solo);
  EXPECT_EQ(one.validations.validate_and_save({}), 1) << "(0 x - 1)^2";
  EXPECT_EQ(one.small.heard.last.at("validation").at("val/loss"), 1);
  EXPECT_EQ(one.small.loop.state.best_step, 2);
  ASSERT_EQ(one.saved().size(), 1U) << "the best so far, though no checkpoint is due";
  EXPECT_EQ(one.saved().front().metric, 1);
  one.small.loop.state.progress.step = 3;
  one.validations.validate_and_save({});
  EXPECT_EQ(one.small.loop.state.validations_without_gain, 1);
  EXPECT_EQ(one.saved().size(), 1U);
  one.validations.validate_and_save({.checkpoint = true});
  EXPECT_EQ(one.saved().front().step, 3);
}

TEST(Validations, AreDueAgainWhereAStopHasCutThem) {
  const auto solo = make_solo();
  ValidationsOfOne one(*solo);
  one.small.stop_words = "stopped by SIGTERM";
  EXPECT_EQ(one.validations.validate_and_save({.checkpoint = true}), std::nullopt);
  ASSERT_TRUE(one.small.loop.state.due_validation);
  EXPECT_TRUE(one.small.loop.state.due_validation->checkpoint);
  EXPECT_EQ(one.stops.reason(), StopReason::signal);
  EXPECT_TRUE(one.saved().empty());
}

TEST(Validations, SaveWhatWasTrainedBeforeTheirFailureEndsTheRun) {
  const auto solo = make_solo();
  ValidationsOfOne one(*solo);
  one.small.task.judged = [](double) -> double { fail(Exit::usage, "the task is at a loss"); };
  EXPECT_THROW(one.validations.validate_and_save({}), Error);
  ASSERT_EQ(one.saved().size(), 1U);
  EXPECT_EQ(one.saved().front().metric, std::nullopt);
}

TEST(Validations, RefuseAMetricThatTheyDoNotGive) {
  const auto solo = make_solo();
  ValidationsOfOne one(*solo, {.change = [](RunConfig& config) { config.checkpoint.metric = "val/dice"; }});
  try {
    one.validations.validate_and_save({});
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.message(), HasSubstr("val/dice"));
  }
}

TEST(Validations, GoOnWithoutCasesThatCannotBeUsed) {
  const auto solo = make_solo();
  ValidationsOfOne one(*solo);
  one.small.validation.unreadable = {3};
  EXPECT_EQ(one.validations.validate_and_save({}), 1);
  ASSERT_EQ(one.small.heard.of("warning").size(), 1U);
  EXPECT_THAT(one.small.heard.of("warning").front(), HasSubstr("n4"));
}

TEST(Validations, RateByTheDirectionOfTheMetricAndLowerAPlateau) {
  RunConfig config;
  TrainerState state;
  config.checkpoint.mode = "max";
  rate(0.5, config, {}, state);
  rate(0.4, config, {}, state);
  rate(NAN, config, {}, state);
  EXPECT_EQ(state.best_metric, 0.5);
  EXPECT_EQ(state.validations_without_gain, 2);
  rate(0.6, config, {}, state);
  EXPECT_EQ(state.best_metric, 0.6);
  EXPECT_EQ(state.validations_without_gain, 0);
}

}  // namespace
}  // namespace larmor::testing
