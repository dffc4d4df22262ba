#include "larmor/train/learner.h"

#include <gtest/gtest.h>

#include "tests/train/support/small_loop.h"

namespace larmor::testing {
namespace {

TEST(Learners, AreOneAnObjectiveWithItsOwnOptimizer) {
  const auto solo = make_solo();
  const SmallLoop small(*solo, {.change = [](RunConfig& config) {
    config.objectives["line"] = config.optim;
    config.objectives["line"].learning_rate = 0.5;
  }});
  ASSERT_EQ(small.learners.size(), 1U);
  EXPECT_EQ(small.learners.front().objective.name, "line");
  EXPECT_EQ(small.learners.front().optim.learning_rate, 0.5);
}

TEST(Learners, HaveTheirAveragesWhereValidationAsksForThem) {
  const auto solo = make_solo();
  SmallLoop small(*solo, {.change = [](RunConfig& config) {
    config.optim.ema_decay = 0.5;
    config.train.validate_with = "average";
  }});
  auto& weight = small.task.network->weight;
  {
    const at::NoGradGuard no_gradients;
    weight.fill_(4);
  }
  {
    const auto averaged = averaged_weights(small.learners, small.config);
    const auto whole = whole_networks(small.learners);
    EXPECT_EQ(small.task.weight(), 0) << "the average has seen no step";
  }
  EXPECT_EQ(small.task.weight(), 4);
  small.config.train.validate_with = "live";
  EXPECT_TRUE(averaged_weights(small.learners, small.config).empty());
}

}  // namespace
}  // namespace larmor::testing
