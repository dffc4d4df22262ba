#include "larmor/train/block_order.h"

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
  at::Tensor predict(const at::Tensor& image) override { return image; }

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

}  // namespace
}  // namespace larmor
