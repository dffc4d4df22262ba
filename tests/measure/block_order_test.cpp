#include "larmor/measure/block_order.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn.h>

#include "larmor/base/error.h"
#include "larmor/device/run_block.h"

namespace larmor {
namespace {

/// Two networks; the second is called twice, and one block is made first but runs last.
class TwoNetworks final : public Task {
 public:
  explicit TwoNetworks(bool looks_at_values = false) : looks_at_values_(looks_at_values) {
    late = maker_->register_module("late", torch::nn::Linear(4, 4));
    early = maker_->register_module("early", torch::nn::Linear(4, 4));
    critic = judge_->register_module("critic", torch::nn::Linear(4, 1));
  }
  std::vector<Objective> objectives() override { return {{"maker", maker_.get()}, {"judge", judge_.get()}}; }
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext&) override {
    at::Tensor value = nn::run_block(early, batch.at("image"));
    if (looks_at_values_ && value.sum().item<double>() > 0) value = value * 2;
    value = nn::run_block(late, value);
    value = nn::run_block(early, value);
    return {nn::run_block(critic, value).mean(), nn::run_block(critic, value.detach()).mean()};
  }
  void validate(const Batch&, Metrics&) override {}

  torch::nn::Linear late{nullptr}, early{nullptr}, critic{nullptr};

 private:
  std::shared_ptr<torch::nn::Module> maker_ = std::make_shared<torch::nn::Module>();
  std::shared_ptr<torch::nn::Module> judge_ = std::make_shared<torch::nn::Module>();
  bool looks_at_values_;
};

Sample an_example() { return {{"image", torch::zeros({4})}}; }

TEST(BlockOrder, IsThatOfAForwardAndNotThatOfConstruction) {
  TwoNetworks task, trial;
  const BlockOrder order = block_order(task, trial, an_example());
  ASSERT_EQ(order.size(), 2U);
  EXPECT_THAT(order[0], ::testing::ElementsAre(task.early.get(), task.late.get()));
  EXPECT_THAT(order[1], ::testing::ElementsAre(task.critic.get()));
  EXPECT_FALSE(task.early->weight.is_meta()) << "only the trial moves";
}

TEST(BlockOrder, RefusesAForwardThatLooksAtValues) {
  TwoNetworks task(true), trial(true);
  try {
    block_order(task, trial, an_example());
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::usage);
    EXPECT_EQ(error.hint(), "parallel.strategy=zero2");
  }
}

/// Its loss is `make`'s of the network's only block and of what the block gives.
class OneBlock final : public Task {
 public:
  using Make = std::function<at::Tensor(torch::nn::Linear& block, const at::Tensor& value)>;
  explicit OneBlock(Make make) : make_(std::move(make)) {
    block_ = network_->register_module("layer", torch::nn::Linear(4, 4));
  }
  std::vector<Objective> objectives() override { return {{"network", network_.get()}}; }
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext&) override {
    return {make_(block_, nn::run_block(block_, batch.at("image")))};
  }
  void validate(const Batch&, Metrics&) override {}

 private:
  std::shared_ptr<torch::nn::Module> network_ = std::make_shared<torch::nn::Module>();
  torch::nn::Linear block_{nullptr};
  Make make_;
};

TEST(BlockOrder, RefusesAParameterThatIsUsedPastItsBlocksDoor) {
  const std::vector<OneBlock::Make> uses{
      [](auto& block, const at::Tensor& value) { return value.mean() + block->weight.square().mean(); },
      [](auto& block, const at::Tensor& value) { return (value + block->weight.sum(0)).mean(); },
      [](auto& block, const at::Tensor& value) { return block->forward(value).mean(); },
  };
  for (const auto& use : uses) {
    OneBlock task(use), trial(use);
    try {
      block_order(task, trial, an_example());
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.exit(), Exit::usage);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("it uses the parameter layer."));
      EXPECT_THAT(error.hint(), ::testing::HasSubstr("parallel.strategy=zero2"));
    }
  }
}

TEST(BlockOrder, AcceptsWhatIsMadeOfABlocksOutput) {
  const OneBlock::Make use = [](auto& block, const at::Tensor& value) {
    at::Tensor more = nn::run_block(block, value.relu());
    more.add_(value);
    return more.square().mean();
  };
  OneBlock task(use), trial(use);
  EXPECT_EQ(block_order(task, trial, an_example()).front().size(), 1U);
}

}  // namespace
}  // namespace larmor
