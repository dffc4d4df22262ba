// A bit that changes in one rank's weights is named at the next save, which is not made, and the run goes on
// from the one before as if nothing had been.
#include <atomic>
#include <memory>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/checkpoint/checkpoint.h"

#include "tests/contract/forwarding_stage.h"
#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

constexpr int64_t step_of_flip = 5;
constexpr uint8_t flipped_bit = 1;  // of the first byte: the least but one of what the weight says

/// On the rank that comes first to the step a bit of the first parameter changes.
class FlippingTask final : public ForwardingTask {
 public:
  FlippingTask(std::unique_ptr<Task> inner, std::atomic<bool>& is_flipped)
      : ForwardingTask(std::move(inner)), is_flipped_(is_flipped) {}
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override {
    if (context.training && context.step == step_of_flip && !is_flipped_.exchange(true)) {
      const auto weight = objectives().front().network->parameters().front();
      auto* const bytes = static_cast<uint8_t*>(weight.mutable_data_ptr());
      bytes[0] = static_cast<uint8_t>(bytes[0] ^ (1U << flipped_bit));
    }
    return ForwardingTask::losses(batch, context);
  }

 private:
  std::atomic<bool>& is_flipped_;
};

class FlippingStage final : public ForwardingStage {
 public:
  FlippingStage(std::unique_ptr<const Stage> inner, std::atomic<bool>& is_flipped)
      : ForwardingStage(std::move(inner)), is_flipped_(is_flipped) {}
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override {
    return std::make_unique<FlippingTask>(ForwardingStage::task(config, index), is_flipped_);
  }

 private:
  std::atomic<bool>& is_flipped_;
};

TEST(Drift, OfOneBitIsNamedAtTheNextSaveAndTheRunGoesOnFromTheOneBefore) {
  const StageName stage{"toy", "coder"};
  const std::vector<std::string> words{
      "train.length=9st",    "checkpoint.every=3st",    "train.global_batch=6",  "train.validate_every=0",
      "optim.ema_decay=0.9", "optim.schedule.warmup=0", "parallel.strategy=ddp", "checkpoint.async=false"};
  TrialRun undisturbed(stage, words), run(stage, words);
  undisturbed.train(3);
  std::atomic<bool> is_flipped = false;
  run.change_stage([&](std::unique_ptr<const Stage> inner) {
    return std::make_unique<FlippingStage>(std::move(inner), is_flipped);
  });
  EXPECT_THROW(run.train(3), Error);
  for (const auto& error : run.errors()) {
    ASSERT_TRUE(error);
    try {
      std::rethrow_exception(error);
    } catch (const Error& said) {
      EXPECT_EQ(said.exit(), Exit::rank_lost);
      EXPECT_THAT(said.message(),
                  ::testing::ContainsRegex("rank [0-2] of 3 no longer has the weights of the others: "));
    }
  }
  EXPECT_EQ(run.logged_steps().size(), 6U);
  EXPECT_EQ(newest_good(run.folder().checkpoints(), nullptr).value().step, 3) << "nothing unequal is saved";
  run.train(3);
  EXPECT_EQ(run.logged_steps(), undisturbed.logged_steps());
  EXPECT_EQ(run.hashes(), undisturbed.hashes());
}

}  // namespace
}  // namespace larmor::testing
