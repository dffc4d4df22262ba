#include "larmor/run/earlier/earlier_run.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "larmor/task/networks.h"

namespace larmor::testing {
namespace {

class OneWeight final : public torch::nn::Module {
 public:
  OneWeight() : weight(register_parameter("weight", at::zeros({3}))) {}
  at::Tensor weight;
};

class OneWeightTask final : public Task {
 public:
  std::vector<Objective> objectives() override { return {{.name = "main", .network = &network}}; }
  std::vector<at::Tensor> losses(const Batch&, const StepContext&) override { return {}; }
  void validate(const Batch&, Metrics&) override {}

  OneWeight network;
};

class OneWeightStage final : public Stage {
 public:
  WorkloadFields fields() override { return {}; }
  void check(const RunConfig&) const override {}
  Demand demand(const RunConfig&, const Index&) const override { return {}; }
  std::unique_ptr<Dataset> dataset(const RunConfig&, const Index&, Split) const override { return nullptr; }
  std::unique_ptr<Task> task(const RunConfig&, const Index&) const override {
    return std::make_unique<OneWeightTask>();
  }
  PredictionForm prediction(const RunConfig&) const override { return {}; }
};

const double third = 1.0 / 3;  // float32 has no such number

/// The weights of the task of an earlier run of this type.
std::unique_ptr<OneWeightTask> task_of_type(c10::ScalarType type) {
  EarlierRun run;
  run.loaded.stage = std::make_unique<OneWeightStage>();
  run.weights = {{"weight", at::full({3}, third, type)}};
  run.task_values = Json::object();
  auto task = run.task();
  return std::unique_ptr<OneWeightTask>(dynamic_cast<OneWeightTask*>(task.release()));
}

at::Tensor weight_of(OneWeightTask& task) { return task.network.parameters().front(); }

TEST(EarlierRun, KeepsTheWeightsOfARunInFloat64ForALaterOneInFloat64) {
  const auto task = task_of_type(at::kDouble);
  EXPECT_TRUE(weight_of(*task).equal(at::full({3}, third, at::kDouble)));
  place(*task, c10::kCPU, Precision::fp64);
  EXPECT_TRUE(weight_of(*task).equal(at::full({3}, third, at::kDouble)));
  EXPECT_FALSE(weight_of(*task).requires_grad());
}

TEST(EarlierRun, RoundsThemForALaterRunInFloat32) {
  const auto task = task_of_type(at::kDouble);
  place(*task, c10::kCPU, Precision::fp32);
  EXPECT_TRUE(weight_of(*task).equal(at::full({3}, third, at::kFloat)));
}

TEST(EarlierRun, HasTheWeightsOfARunInFloat32AsTheyAre) {
  const auto task = task_of_type(at::kFloat);
  EXPECT_TRUE(weight_of(*task).equal(at::full({3}, third, at::kFloat)));
}

}  // namespace
}  // namespace larmor::testing
