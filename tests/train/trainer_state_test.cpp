#include "larmor/train/trainer_state.h"

#include <gtest/gtest.h>

namespace larmor::testing {
namespace {

TEST(TrainerState, ComesBackFromACheckpointAsItWas) {
  TrainerState state;
  state.progress = {.step = 7, .examples = 28, .elapsed_seconds = 1.5};
  state.non_finite_steps = 2;
  state.best_metric = 0.25;
  state.best_step = 6;
  state.validations_without_gain = 1;
  state.plateaus["generator"] = {.factor = 0.1, .waited = 3};
  state.micro_batch = 2;
  state.due_validation = {.pictures = true, .checkpoint = false};
  state.told = {"auc is no number"};
  const auto json = to_json(state);
  const auto back = trainer_state_from_json(json);
  EXPECT_EQ(to_json(back), json);
  EXPECT_EQ(back.progress.elapsed_seconds, 1.5);
  EXPECT_EQ(back.best_metric, 0.25);
  EXPECT_EQ(back.plateaus.at("generator").waited, 3);
  ASSERT_TRUE(back.due_validation);
  EXPECT_TRUE(back.due_validation->pictures);
  EXPECT_EQ(back.told, state.told);
}

TEST(TrainerState, OfARunThatHasNotValidatedHasNoBest) {
  const auto back = trainer_state_from_json(to_json(TrainerState()));
  EXPECT_EQ(back.best_metric, std::nullopt);
  EXPECT_FALSE(back.due_validation);
  EXPECT_EQ(back.micro_batch, 0);
}

}  // namespace
}  // namespace larmor::testing
