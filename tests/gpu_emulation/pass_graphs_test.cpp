// Passes of small tasks as graphs of an emulated card: what a replay gives, and what is found out before it
// is believed.
#include "larmor/train/step/pass_graphs.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <c10/cuda/CUDAFunctions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/module.h>

#include "larmor/comm/communicator.h"
#include "larmor/device/send.h"
#include "larmor/kernels/draw/draw.h"

#include "tests/gpu_emulation/runtime/counters.h"

namespace larmor::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const c10::Device card(c10::kCUDA, 0);
constexpr int64_t voxels = 100;

struct Weights : torch::nn::Module {
  Weights() {
    w = register_parameter("w", at::full({voxels}, 0.5, at::TensorOptions(card)));
    seen = register_buffer("seen", at::zeros({1}, at::TensorOptions(card)));
  }
  at::Tensor w, seen;
};

/// A loss of a weight and a noisy image, with something besides.
struct SmallTask : Task {
  using Besides =
      std::function<at::Tensor(const at::Tensor& loss, const Batch& batch, const StepContext& context)>;
  explicit SmallTask(Besides something = {}) : besides(std::move(something)) {}

  std::vector<Objective> objectives() override { return {{.name = "small", .network = &weights}}; }
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext& context) override {
    const at::Tensor& image = batch.at("image");
    weights.seen.add_(image.mean().detach());
    at::Tensor loss = (weights.w * image + draw_normal_like(image, "noise")).square().mean();
    if (context.counts.defined()) loss = loss / context.counts[0];
    if (besides) loss = besides(loss, batch, context);
    context.record("loss", loss);
    return {loss};
  }
  std::optional<int64_t> fixed_pass(const StepContext& context) const override { return context.epoch; }
  void validate(const Batch&, Metrics&) override {}

  Weights weights;
  Besides besides;
};

Batch batch_of(int64_t number, int64_t rows = 2) {
  Batch batch;
  batch.tensors["image"] = at::full({rows, voxels}, static_cast<float>(number), at::TensorOptions(card));
  for (int64_t row = 0; row < rows; ++row)
    batch.keys.push_back({.seed = 1, .epoch = 0, .example = number * rows + row});
  return batch;
}

class PassGraphsOnACard : public ::testing::Test {
 protected:
  void SetUp() override { at::globalContext().lazyInitDevice(c10::kCUDA); }
  void TearDown() override { c10::cuda::device_synchronize(); }

  void begin(SmallTask& task, Precision precision = Precision::fp32) {
    Plan plan;
    plan.precision = precision;
    OptimConfig optim;
    Learner learner{
        .objective = task.objectives().front(), .optim = optim, .schedule_steps = {}, .parallel = {}};
    learner.parallel = make_parallelism(plan, optim, task.weights, *solo_);
    learners_.push_back(std::move(learner));
    graphs_ =
        std::make_unique<PassGraphs>(task, learners_, PassOptions{.device = card, .precision = precision},
                                     LossShare(), [this](const std::string& words) { told_ += words; });
  }

  static at::Tensor gradient_of(const at::Tensor& loss, const SmallTask& task) {
    return torch::autograd::grad({loss}, {task.weights.w})[0].cpu();
  }
  struct Given {
    double loss = 0, recorded = 0;
    at::Tensor gradient;
  };
  /// What a pass gives by graphs, or by whoever computes it in their place.
  Given pass(SmallTask& task, int64_t number, StepContext context = {}) {
    Given given;
    context.record = [&](const std::string&, const at::Tensor& value) {
      given.recorded = value.item<double>();
    };
    const Batch batch = batch_of(number, rows_);
    if (const auto* const computed = graphs_->compute(batch, context, {true})) {
      given.loss = computed->losses[0].item<double>();
      given.gradient = computed->gradients[0][0].cpu();
      return given;
    }
    const auto losses = losses_of(task, batch, context, {.device = card, .precision = Precision::fp32});
    given.loss = losses[0].item<double>();
    given.gradient = gradient_of(losses[0], task);
    return given;
  }
  void expect_as_plain(SmallTask& task, int64_t number) {
    SmallTask plain(task.besides);
    const Batch batch = batch_of(number, rows_);
    const auto losses =
        losses_of(plain, batch, StepContext(), {.device = card, .precision = Precision::fp32});
    const Given given = pass(task, number);
    EXPECT_EQ(given.loss, losses[0].item<double>());
    EXPECT_EQ(given.recorded, given.loss);
    EXPECT_TRUE(at::equal(given.gradient, gradient_of(losses[0], plain)));
  }
  static uint64_t launches() { return emulated::counters().graph_launches; }

  const std::unique_ptr<Communicator> solo_ = make_solo(card);
  std::vector<Learner> learners_;
  std::unique_ptr<PassGraphs> graphs_;
  std::string told_;
  int64_t rows_ = 2;
};

TEST_F(PassGraphsOnACard, GiveTheNumbersOfPlainPassesWithDrawsOfTheirOwn) {
  SmallTask task;
  begin(task);
  const uint64_t before = launches();
  for (int64_t number = 1; number <= 8; ++number) expect_as_plain(task, number);
  EXPECT_EQ(launches() - before, 5U) << "two plain passes, one that is recorded, and one that is compared";
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(PassGraphsOnACard, LeaveBuffersAsPlainPassesDo) {
  SmallTask task;
  begin(task);
  double expected = 0;
  for (int64_t number = 1; number <= 8; ++number) {
    pass(task, number);
    expected += static_cast<double>(number);
    EXPECT_FLOAT_EQ(task.weights.seen.item<float>(), static_cast<float>(expected)) << "after pass " << number;
  }
}

TEST_F(PassGraphsOnACard, FollowWeightsThatMove) {
  SmallTask task;
  begin(task);
  for (int64_t number = 1; number <= 5; ++number) pass(task, number);
  task.weights.w.detach().fill_(2);
  SmallTask plain;
  plain.weights.w.detach().fill_(2);
  const auto losses = losses_of(plain, batch_of(6), StepContext(), {.device = card});
  EXPECT_EQ(pass(task, 6).loss, losses[0].item<double>());
}

TEST_F(PassGraphsOnACard, TakeTheCountsOfEachStep) {
  SmallTask task;
  begin(task);
  for (int64_t number = 1; number <= 6; ++number) {
    StepContext once, twice;
    once.counts = at::full({1}, 1.0, at::TensorOptions(card));
    twice.counts = once.counts * 2;
    const double whole = pass(task, number, once).loss;
    EXPECT_FLOAT_EQ(static_cast<float>(pass(task, number, twice).loss * 2), static_cast<float>(whole));
  }
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(PassGraphsOnACard, AreRecordedAnewForAnotherPassOrAnotherShape) {
  SmallTask task;
  begin(task);
  for (int64_t number = 1; number <= 5; ++number) pass(task, number);
  const uint64_t before = launches();
  rows_ = 3;
  for (int64_t number = 1; number <= 5; ++number) expect_as_plain(task, number);
  EXPECT_EQ(launches() - before, 2U);
  StepContext later;
  later.epoch = 7;
  for (int64_t number = 1; number <= 5; ++number) pass(task, number, later);
  EXPECT_EQ(launches() - before, 4U);
  EXPECT_THAT(told_, IsEmpty());
}

struct Liar {
  std::string name;
  SmallTask::Besides besides;
  std::string said;
};

class TasksThatAreNotWhatTheySay : public PassGraphsOnACard, public ::testing::WithParamInterface<Liar> {};

TEST_P(TasksThatAreNotWhatTheySay, AreFoundOutAndLoseNoPass) {
  SmallTask task(GetParam().besides);
  begin(task);
  for (int64_t number = 1; number <= 6; ++number) expect_as_plain(task, number);
  EXPECT_THAT(told_, HasSubstr("train.graphs: kernels are launched one by one from here on: "));
  EXPECT_THAT(told_, HasSubstr(GetParam().said));
}

INSTANTIATE_TEST_SUITE_P(
    Such, TasksThatAreNotWhatTheySay,
    ::testing::Values(Liar{"who_compute_with_a_number_of_the_batch_on_the_host",
                           [](const at::Tensor& loss, const Batch& batch, const StepContext&) {
                             return loss * static_cast<double>(batch.keys.front().example);
                           },
                           "a replay has given other numbers than the same pass launched one by one"},
                      Liar{"who_send_numbers",
                           [](const at::Tensor& loss, const Batch&, const StepContext&) {
                             return loss * send(at::full({}, 2.0F), card);
                           },
                           "numbers of the host were to go to the GPU"},
                      Liar{"who_look_at_a_value",
                           [](const at::Tensor& loss, const Batch&, const StepContext&) {
                             return loss * loss.item<double>();
                           },
                           ""},
                      Liar{"whose_ranks_meet",
                           [](const at::Tensor& loss, const Batch&, const StepContext& context) {
                             return context.mean_over_ranks(loss);
                           },
                           "the ranks meet within the pass"}),
    [](const auto& info) { return info.param.name; });

TEST_F(PassGraphsOnACard, AreNotAskedForAPassOfTheHost) {
  struct OfTheHost : SmallTask {
    std::optional<int64_t> fixed_pass(const StepContext&) const override { return std::nullopt; }
  } task;
  begin(task);
  for (int64_t number = 1; number <= 5; ++number) expect_as_plain(task, number);
  EXPECT_THAT(told_, HasSubstr("the host takes part in each pass of this task"));
}

TEST_F(PassGraphsOnACard, EndWhereWeightsLeaveTheirPlace) {
  SmallTask task;
  begin(task);
  for (int64_t number = 1; number <= 5; ++number) pass(task, number);
  task.weights.w.set_data(at::full({voxels}, 0.5, at::TensorOptions(card)));
  expect_as_plain(task, 6);
  EXPECT_THAT(told_, HasSubstr("weights do not stay where they are"));
}

TEST_F(PassGraphsOnACard, ScaleTheGradientsUnderFp16AsTheScaleIsNow) {
  SmallTask task;
  begin(task, Precision::fp16);
  for (int64_t number = 1; number <= 5; ++number) pass(task, number);
  const at::Tensor before = pass(task, 6).gradient / learners_[0].parallel->loss_scale();
  learners_[0].parallel->skip();  // the scale backs off
  const at::Tensor after = pass(task, 6).gradient / learners_[0].parallel->loss_scale();
  EXPECT_TRUE(at::equal(before, after));
  EXPECT_GT(before.abs().max().item<float>(), 0);
}

TEST_F(PassGraphsOnACard, ReplayWithoutTheHostAskingAnything) {
  SmallTask task;
  begin(task);
  for (int64_t number = 1; number <= 5; ++number) pass(task, number);
  const Batch batch = batch_of(6);
  const auto& counters = emulated::counters();
  const uint64_t waits = counters.host_waits, kernels = counters.kernels;
  ASSERT_NE(graphs_->compute(batch, StepContext(), {true}), nullptr);
  EXPECT_EQ(counters.host_waits, waits);
  EXPECT_LT(counters.kernels - kernels, 6U) << "the batch, its keys, and copies of what is recorded";
}

}  // namespace
}  // namespace larmor::testing
