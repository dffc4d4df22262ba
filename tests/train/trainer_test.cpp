#include "larmor/train/trainer.h"

#include <gtest/gtest.h>

#include "larmor/checkpoint/checkpoint.h"

#include "tests/train/support/small_loop.h"

namespace larmor::testing {
namespace {

std::vector<CheckpointEntry> checkpoints_of(const SmallLoop& small) {
  return list_checkpoints(small.scratch.path() / "checkpoints", /*verify=*/false);
}

TEST(Trainer, TrainsToItsLengthValidatesThereAndSaves) {
  const auto solo = make_solo();
  SmallLoop small(*solo);
  Trainer trainer(small.parts, {});
  const auto end = trainer.run();
  EXPECT_EQ(end.reason, StopReason::length_reached);
  EXPECT_EQ(end.state.progress.step, 4);
  double expected = 0;
  for (int64_t step = 0; step < 4; ++step)
    expected = SmallLoop::after_step(expected, small.examples_of_step(step));
  EXPECT_NEAR(small.task.weight(), expected, 1e-12);
  EXPECT_EQ(small.heard.of("step").size(), 4U);
  EXPECT_EQ(small.heard.of("validation").size(), 1U);
  ASSERT_EQ(checkpoints_of(small).size(), 1U);
  EXPECT_EQ(checkpoints_of(small).front().metric, small.heard.last.at("validation").at("val/loss"));
  EXPECT_EQ(small.board.phase(0), Phase::finished);
}

TEST(Trainer, EndsAtALimitWithACheckpointAndNoValidation) {
  const auto solo = make_solo();
  SmallLoop small(*solo);
  auto parts = small.parts;
  parts.step_limit = 3;
  const auto end = Trainer(parts, {}).run();
  EXPECT_EQ(end.reason, StopReason::step_limit);
  EXPECT_TRUE(small.heard.of("validation").empty());
  ASSERT_EQ(checkpoints_of(small).size(), 1U);
  EXPECT_EQ(checkpoints_of(small).front().step, 3);
}

TEST(Trainer, DoesFirstWhatAStopHasCut) {
  const auto solo = make_solo();
  SmallLoop small(*solo);
  TrainerState state;
  state.progress = {.step = 4, .examples = 16};
  state.due_validation = DueValidation();
  const auto end = Trainer(small.parts, state).run();
  EXPECT_EQ(end.reason, StopReason::length_reached);
  EXPECT_TRUE(small.heard.of("step").empty());
  EXPECT_EQ(small.heard.of("validation").size(), 1U);
  EXPECT_EQ(checkpoints_of(small).size(), 1U) << "the step is saved once more, with its metric";
}

}  // namespace
}  // namespace larmor::testing
