#include "larmor/train/preparation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "larmor/base/error.h"

#include "tests/train/support/small_loop.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

struct PreparationOfOne {
  explicit PreparationOfOne(Communicator& communicator, const SmallLoopOptions& options = {})
      : small(communicator, options) {}

  SmallLoop small;
  MicroBatches batches{small.loop};
  Recovery recovery{small.loop, batches};
  Saves saves{small.checkpoints, small.clock, [] { return Snapshot(); }, -1};
  Stops stops{small.loop, saves};
  Validations validations{small.loop, batches.feed(), stops, saves};
};

TEST(Preparation, LooksAtTheFirstGlobalBatchWhichTrainingSeesAllTheSame) {
  const auto solo = make_solo();
  PreparationOfOne one(*solo);
  look_at_first_batch(one.small.loop, one.batches, one.recovery);
  const auto first = one.small.examples_of_step(0);
  EXPECT_EQ(one.small.task.seen,
            (std::vector<std::vector<int64_t>>{{first[0], first[1]}, {first[2], first[3]}}));
  EXPECT_EQ(one.batches.read().keys.front().example, first[0]);
}

TEST(Preparation, BeginsAgainWithoutWhatTheTaskRefuses) {
  const auto solo = make_solo();
  PreparationOfOne one(*solo);
  const auto odd = one.small.examples_of_step(0)[2];
  one.small.task.before_losses = [odd](const Batch& batch) {
    for (const auto& key : batch.keys) {
      if (key.example == odd) fail(Exit::data, "has no tumour");
    }
  };
  look_at_first_batch(one.small.loop, one.batches, one.recovery);
  EXPECT_TRUE(one.small.loop.bad.left_out().contains(odd));
  EXPECT_EQ(one.small.heard.of("warning").size(), 1U);
}

TEST(Preparation, TriesTheNameOfTheMetricAndKeepsNothing) {
  const auto solo = make_solo();
  PreparationOfOne good(*solo);
  try_out(good.small.loop, good.validations);
  EXPECT_TRUE(good.small.heard.events.empty());
  EXPECT_EQ(good.small.loop.state.best_metric, std::nullopt);
  PreparationOfOne bad(*solo, {.change = [](RunConfig& config) { config.checkpoint.metric = "val/los"; }});
  try {
    try_out(bad.small.loop, bad.validations);
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_THAT(error.hint(), HasSubstr("did you mean val/loss?"));
  }
}

}  // namespace
}  // namespace larmor::testing
