#include "larmor/task/objective_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include "larmor/task/task.h"

namespace larmor {
namespace {

using ::testing::ElementsAre;

struct TwoLayers final : torch::nn::Module {
  TwoLayers() {
    register_module("encoder", torch::nn::Linear(4, 3));
    register_module("head", torch::nn::Linear(3, 2));
  }
};

/// Two objectives, of which the first has rules.
class RuledTask final : public Task {
 public:
  std::vector<Objective> objectives() override {
    return {{.name = "main",
             .network = &main_,
             .rules = {{.prefix = "encoder.", .rate = 0.1, .weight_decay = 0}}},
            {.name = "other", .network = &other_}};
  }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch&, Metrics&) override {}

 private:
  TwoLayers main_, other_;
};

TEST(ObjectiveGroups, AreThoseOfObjectivesWithRules) {
  RunConfig config;
  config.optim.learning_rate = 0.01;
  config.optim.weight_decay = 0.5;
  RuledTask task;
  const ObjectiveGroup encoder{.objective = "main",
                               .first = "encoder.weight",
                               .parameters = 2,
                               .numbers = 15,
                               .rate = 0.1,
                               .learning_rate = 0.1 * 0.01,
                               .weight_decay = 0};
  const ObjectiveGroup head{.objective = "main",
                            .first = "head.weight",
                            .parameters = 2,
                            .numbers = 8,
                            .rate = 1,
                            .learning_rate = 0.01,
                            .weight_decay = 0.5};
  EXPECT_THAT(objective_groups(task, config), ElementsAre(encoder, head));
}

TEST(ObjectiveGroups, GoByTheirObjectivesOwnOptimizer) {
  RunConfig config;
  config.objectives["main"] = config.optim;
  config.objectives["main"].learning_rate = 3;
  RuledTask task;
  EXPECT_EQ(objective_groups(task, config).back().learning_rate, 3);
}

TEST(ObjectiveGroups, AreReadByPeopleAndPrograms) {
  const ObjectiveGroup group{.objective = "main",
                             .first = "encoder.weight",
                             .parameters = 1,
                             .numbers = 12,
                             .rate = 0.5,
                             .learning_rate = 0.25,
                             .weight_decay = 0};
  EXPECT_EQ(describe(group),
            "main: 1 parameter (12 numbers), the first encoder.weight: learning rate 0.25 (0.5 times "
            "optim.learning_rate), weight decay 0");
  const Json row = to_json(std::vector{group}).at(0);
  EXPECT_EQ(row.at("first"), "encoder.weight");
  EXPECT_EQ(row.at("numbers"), 12);
  EXPECT_EQ(row.at("learning_rate"), 0.25);
}

}  // namespace
}  // namespace larmor
