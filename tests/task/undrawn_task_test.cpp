#include "larmor/task/undrawn_task.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/module_state.h"

namespace larmor::testing {
namespace {

/// One drawn weight.
class Drawn final : public torch::nn::Module {
 public:
  Drawn() : weight(register_parameter("weight", at::empty({3}))) { initialise_normal(weight, 0, 1); }
  at::Tensor weight;
};

enum class Companion { none, of_a_seed_alone, drawn_with_the_rest };

/// Two networks that learn, and what accompanies them.
class DrawnTask final : public Task {
 public:
  explicit DrawnTask(Companion kind) {
    const SeededInitialisation seeded(2);
    if (kind == Companion::of_a_seed_alone) {
      const DrawnInitialisation drawn;
      companion = std::make_shared<Drawn>();
    }
    learning = std::make_shared<Drawn>();
    critic = std::make_shared<Drawn>();
    if (kind == Companion::drawn_with_the_rest) companion = std::make_shared<Drawn>();
  }
  std::vector<Objective> objectives() override {
    return {{.name = "main", .network = learning.get()}, {.name = "critic", .network = critic.get()}};
  }
  std::vector<torch::nn::Module*> companions() override {
    return companion ? std::vector<torch::nn::Module*>{companion.get()} : std::vector<torch::nn::Module*>();
  }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch&, Metrics&) override {}

  std::shared_ptr<Drawn> learning, critic, companion;
};

class DrawnStage final : public Stage {
 public:
  explicit DrawnStage(Companion companion) : companion_(companion) {}
  WorkloadFields fields() override { return {}; }
  void check(const RunConfig&) const override {}
  Demand demand(const RunConfig&, const Index&) const override { return {}; }
  std::unique_ptr<Dataset> dataset(const RunConfig&, const Index&, Split) const override { return nullptr; }
  std::unique_ptr<Task> task(const RunConfig&, const Index&) const override {
    return std::make_unique<DrawnTask>(companion_);
  }
  PredictionForm prediction(const RunConfig&) const override { return {}; }

 private:
  Companion companion_;
};

std::unique_ptr<DrawnTask> undrawn(Companion companion) {
  auto task = undrawn_task(DrawnStage(companion), RunConfig(), Index());
  return std::unique_ptr<DrawnTask>(dynamic_cast<DrawnTask*>(task.release()));
}

TEST(UndrawnTask, HasZerosUntilItIsLoadedAndThenWhatWasLoaded) {
  const auto task = undrawn(Companion::none);
  EXPECT_TRUE(task->learning->weight.equal(at::zeros({3})));
  EXPECT_TRUE(task->critic->weight.equal(at::zeros({3})));
  const DrawnTask drawn(Companion::none);
  load_state_dict(*task->learning, state_dict(*drawn.learning));
  EXPECT_TRUE(task->learning->weight.equal(drawn.learning->weight));
  EXPECT_THROW(load_state_dict(*task->critic, {}), Error) << "a weight that is missing stays at zero";
}

TEST(UndrawnTask, HasACompanionOfASeedAloneAsEver) {
  const auto task = undrawn(Companion::of_a_seed_alone);
  EXPECT_TRUE(task->companion->weight.equal(DrawnTask(Companion::of_a_seed_alone).companion->weight));
  EXPECT_TRUE(task->learning->weight.equal(at::zeros({3})));
}

TEST(UndrawnTask, IsDrawnAllTheSameWhereACompanionIsNeverLoaded) {
  const auto task = undrawn(Companion::drawn_with_the_rest);
  const DrawnTask drawn(Companion::drawn_with_the_rest);
  EXPECT_TRUE(task->companion->weight.equal(drawn.companion->weight));
  EXPECT_TRUE(task->learning->weight.equal(drawn.learning->weight));
}

}  // namespace
}  // namespace larmor::testing
