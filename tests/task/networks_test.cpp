#include "larmor/task/networks.h"

#include <functional>
#include <vector>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>

#include "larmor/measure/activation_count.h"
#include "larmor/measure/demand_count.h"

#include "tests/support/scope_contract.h"

namespace larmor::testing {
namespace {

/// One network that learns and one that does not.
class Accompanied final : public Task {
 public:
  std::vector<Objective> objectives() override { return {{.name = "main", .network = learning.get()}}; }
  std::vector<torch::nn::Module*> companions() override { return {companion.get()}; }
  std::vector<at::Tensor> losses(const Batch& batch, const StepContext&) override {
    return {companion(learning(batch.at("image"))).square().mean()};
  }
  void validate(const Batch&, Metrics&) override {}

  torch::nn::Linear learning{3, 3};
  torch::nn::BatchNorm1d companion{3};
};

TEST(Networks, AreThoseThatLearnThenTheCompanions) {
  Accompanied task;
  EXPECT_EQ(networks_of(task), (std::vector<torch::nn::Module*>{task.learning.get(), task.companion.get()}));
}

TEST(Place, TakesCompanionsAlongAndFreezesThem) {
  Accompanied task;
  place(task, c10::kCPU, Precision::fp64);
  EXPECT_EQ(task.learning->weight.scalar_type(), at::kDouble);
  EXPECT_EQ(task.companion->weight.scalar_type(), at::kDouble);
  EXPECT_EQ(task.companion->running_mean.scalar_type(), at::kDouble);
  EXPECT_TRUE(task.learning->weight.requires_grad());
  EXPECT_FALSE(task.companion->weight.requires_grad());
  EXPECT_TRUE(task.learning->is_training());
  EXPECT_FALSE(task.companion->is_training());
}

TEST(WeightType, IsFloat32InMixedPrecision) {
  EXPECT_EQ(weight_type(Precision::fp64), at::kDouble);
  for (const auto precision : {Precision::fp32, Precision::bf16, Precision::fp16})
    EXPECT_EQ(weight_type(precision), at::kFloat);
}

TEST(EvaluationMode, LeavesEveryNetworkAsItWas) {
  Accompanied task;
  place(task, c10::kCPU, Precision::fp32);
  {
    const EvaluationMode evaluation(task);
    EXPECT_FALSE(task.learning->is_training());
  }
  EXPECT_TRUE(task.learning->is_training());
  EXPECT_FALSE(task.companion->is_training()) << "a companion never trains";
}

/// What they save for backward on the way to the network that learns is counted with the rest.
TEST(CountActivations, PassesCompanionsThatWereElsewhere) {
  Accompanied task;
  std::string why_not;
  const auto count =
      count_activations(task, {{"image", at::empty({3}, at::kMeta)}}, Recompute::none, &why_not);
  ASSERT_TRUE(count.has_value()) << why_not;
  EXPECT_GT(count->per_sample, 0);
  EXPECT_TRUE(task.companion->weight.is_meta());
  EXPECT_FALSE(task.companion->is_training());
}

TEST(CountDemand, TellsWhatCompanionsTake) {
  Accompanied task;
  const auto demand = count_demand({}, {}, Json::array(), task, {{"image", at::empty({3}, at::kMeta)}});
  EXPECT_EQ(demand.parameters, 12);
  EXPECT_EQ(demand.frozen_bytes, 4 * (4 * 3 + 1)) << "weight, bias, mean, variance, and how often it was run";
  EXPECT_EQ(demand.optimizer_bytes, 2 * 4 * 12) << "of what learns alone";
}

TEST(CountDemand, KnowsWhatEachOptimizerKeeps) {
  const auto states_of = [](const char* name, double momentum, double ema_decay) {
    RunConfig config;
    config.optim.name = name;
    config.optim.momentum = momentum;
    config.optim.ema_decay = ema_decay;
    Accompanied task;
    return count_demand(config, {}, Json::array(), task, {{"image", at::empty({3}, at::kMeta)}})
               .optimizer_bytes /
           (4 * 12);
  };
  EXPECT_EQ(states_of("sgd", 0, 0), 0);
  EXPECT_EQ(states_of("sgd", 0.9, 0), 1);
  EXPECT_EQ(states_of("adam", 0, 0), 2);
  EXPECT_EQ(states_of("adamw", 0, 0.99), 3);
}

/// Once, in place of at every convolution.
TEST(LayOutKernels, ChangesTheOrderOfKernelsAndNoValue) {
  Accompanied task;
  const auto kernel = at::rand({4, 3, 3, 3, 3});
  auto& laid = task.learning->register_parameter("kernel", kernel.clone());
  lay_out_kernels(task, Layout::contiguous);
  EXPECT_TRUE(laid.is_contiguous());
  lay_out_kernels(task, Layout::channels_last);
  EXPECT_TRUE(laid.is_contiguous(at::MemoryFormat::ChannelsLast3d));
  EXPECT_TRUE(laid.equal(kernel));
  EXPECT_TRUE(task.learning->weight.is_contiguous());
}

/// A network of which a part stays in evaluation mode while the rest trains.
class PartlyTraining final : public Task {
 public:
  PartlyTraining() { network[1]->train(false); }
  std::vector<Objective> objectives() override { return {{.name = "main", .network = network.ptr().get()}}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch&, Metrics&) override {}

  torch::nn::Sequential network{torch::nn::Linear(3, 3), torch::nn::BatchNorm1d(3), torch::nn::Linear(3, 3)};
};

struct Modes {
  std::vector<bool> state() {
    std::vector<bool> all;
    for (const auto& module : task_.network->modules()) all.push_back(module->is_training());
    return all;
  }
  void within(int /*which*/, const std::function<void()>& work) {
    const EvaluationMode scope(task_);
    work();
  }
  PartlyTraining task_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Train, ScopeContract, Modes);

}  // namespace
}  // namespace larmor::testing
