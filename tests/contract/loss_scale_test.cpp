// What float16 drops is told of and bounded: a run whose gradients never are finite ends instead of learning
// nothing.
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"

#include "tests/contract/forwarding_stage.h"
#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

using ::testing::HasSubstr;

/// What becomes of the first objective's loss.
using ChangeLoss = std::function<at::Tensor(const at::Tensor& loss, const torch::nn::Module& network)>;

class ChangedTask final : public ForwardingTask {
 public:
  ChangedTask(std::unique_ptr<Task> inner, ChangeLoss change)
      : ForwardingTask(std::move(inner)), change_(std::move(change)) {}
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override {
    auto losses = ForwardingTask::losses(batch, context);
    losses.front() = change_(losses.front(), *objectives().front().network);
    return losses;
  }

 private:
  ChangeLoss change_;
};

class ChangedStage final : public ForwardingStage {
 public:
  ChangedStage(std::unique_ptr<const Stage> inner, ChangeLoss change)
      : ForwardingStage(std::move(inner)), change_(std::move(change)) {}
  std::unique_ptr<Task> task(const RunConfig& config, const Index& index) const override {
    return std::make_unique<ChangedTask>(ForwardingStage::task(config, index), change_);
  }

 private:
  ChangeLoss change_;
};

/// Small crops: a CPU takes its time over float16.
class ChangedRun : public TrialRun {
 public:
  ChangedRun(const ChangeLoss& change, const std::string& precision, int steps)
      : TrialRun("latent_diffusion", {"train.precision=" + precision, text("train.length=", steps, "st"),
                                      "train.validate_every=0", "train.global_batch=2",
                                      "train.non_finite_budget=3", "loss.adversarial_weight=0",
                                      "data.transforms=[{RandSpatialCrop: {roi_size: [8, 8, 8], "
                                      "validation_roi_size: [16, 16, 16]}}, "
                                      "{ScaleIntensityRangePercentiles: {lower: 0, upper: 99.5, "
                                      "b_min: 0, b_max: 1}}]"}) {
    change_stage([change](std::unique_ptr<const Stage> stage) {
      return std::make_unique<ChangedStage>(std::move(stage), change);
    });
  }
};

std::vector<Json> warnings_of(const TrialRun& run) {
  std::vector<Json> warnings;
  std::ifstream file(run.folder().events());
  for (std::string line; std::getline(file, line);) {
    auto event = parse_json(line, "events.jsonl");
    if (event.at("kind") == "warning") warnings.push_back(std::move(event));
  }
  return warnings;
}

at::Tensor many_times(const at::Tensor& loss, const torch::nn::Module&) { return loss * 64; }

/// The loss is what it was; its gradient is no number, whatever the scale.
at::Tensor with_a_gradient_of_nan(const at::Tensor& loss, const torch::nn::Module& network) {
  return loss + (network.parameters().front().sum() * 0).sqrt();
}

TEST(Float16, TellsOfEachStepThatItDropsWithTheLossScale) {
  ChangedRun run(many_times, "fp16", 16);
  const auto end = run.train(2);
  EXPECT_EQ(end.training.state.non_finite_steps, 0) << "the scale finds its size: no fault of the numbers";
  const auto warnings = warnings_of(run);
  ASSERT_GE(warnings.size(), 2U) << "nothing overflows: the test tests nothing";
  ASSERT_LT(warnings.size(), 16U) << "the scale does not find its size";
  double scale = 65536, step = -1;
  for (size_t i = 0; i < warnings.size(); ++i) {
    EXPECT_GT(warnings[i].at("step"), step) << "told of twice";
    step = warnings[i].at("step");
    EXPECT_THAT(warnings[i].at("text").get<std::string>(),
                HasSubstr(text("the scale goes from ", scale, " to ", scale / 2)));
    scale /= 2;
    EXPECT_EQ(warnings[i].at("values").at("optim/loss_scale"), scale);
  }
  EXPECT_THAT(run.logged_steps().front(), HasSubstr("\"optim/loss_scale\":32768"))
      << "a step's line has the scale, whether the step was dropped or not";
}

TEST(Float16, EndsARunWhoseGradientsAreNotFiniteUnderAnyScale) {
  ChangedRun run(with_a_gradient_of_nan, "fp16", 60);
  try {
    run.train(1);
    FAIL() << "a run that learns nothing has ended well";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit(), Exit::numerics);
    EXPECT_THAT(error.message(), HasSubstr("(4 of at most 3)"));
  }
  // 65536 is halved sixteen times; then the budget counts.
  const auto warnings = warnings_of(run);
  ASSERT_EQ(warnings.size(), 20U);
  EXPECT_EQ(warnings.back().at("values").at("optim/loss_scale"), 1);
}

TEST(Float16, CountsTheSameGradientAtOnceInOtherPrecisions) {
  ChangedRun run(with_a_gradient_of_nan, "fp32", 60);
  EXPECT_THROW(run.train(1), Error);
  EXPECT_EQ(warnings_of(run).size(), 4U);
}

}  // namespace
}  // namespace larmor::testing
