#include "workloads/xray_to_ct/stage/cascade_task.h"

#include <map>
#include <set>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/device/draw_position.h"
#include "larmor/measure/activation_count.h"
#include "larmor/task/prediction.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"
#include "workloads/xray_to_ct/tests/small_cascade.h"

namespace larmor::xray_to_ct {
namespace {

struct Recorded {
  at::Tensor loss;
  std::map<std::string, double> parts;
};

Recorded losses_of(CascadeTask& task, const Batch& batch) {
  Recorded recorded;
  StepContext context;
  context.record = [&](const std::string& name, const at::Tensor& value) {
    recorded.parts[name] = value.item<double>();
  };
  const DrawScope draws(draws_for({0, 1}));
  recorded.loss = task.losses(batch, context).front();
  return recorded;
}

TEST(CascadeTask, RecordsItsLossesUnderTheGuidesNames) {
  for (const int64_t stage : {1, 2}) {
    const auto config = small_config(stage);
    const auto task = task_of(config);
    const Recorded recorded = losses_of(*task, batch_of(config, 2));
    ASSERT_TRUE(recorded.parts.contains("diffusion") && recorded.parts.contains("physics"));
    EXPECT_NEAR(recorded.loss.item<double>(),
                recorded.parts.at("diffusion") + config.physics_weight * recorded.parts.at("physics"), 1e-5);
    recorded.loss.backward();
  }
}

TEST(CascadeTask, LeavesThePhysicsTermOutWhereItWeighsNothing) {
  auto config = small_config(1);
  config.physics_weight = 0;
  const auto task = task_of(config);
  const Recorded recorded = losses_of(*task, batch_of(config, 2));
  EXPECT_FALSE(recorded.parts.contains("physics"));
  EXPECT_NEAR(recorded.loss.item<double>(), recorded.parts.at("diffusion"), 1e-6);
}

TEST(CascadeTask, BringsTheNetworksOfAllStagesBeforeAlong) {
  EXPECT_EQ(task_of(small_config(1))->companions().size(), 0U);
  const auto third = task_of(small_config(3));
  const auto companions = third->companions();
  EXPECT_EQ(std::set<torch::nn::Module*>(companions.begin(), companions.end()).size(), 2U);
}

TEST(CascadeTask, CountsItsMemoryOnTheMetaDevice) {
  for (const auto head : {CascadeConfig::Head::patches, CascadeConfig::Head::reference}) {
    for (const int64_t stage : {1, 2}) {
      auto config = small_config(stage);
      config.head = head;
      config.network.voxel_dim = 32;
      config.token_grid = 4;
      auto task = std::make_unique<CascadeTask>(config, 1,
                                                stage == 1 ? nullptr : task_of(small_config(1), c10::kMeta),
                                                CascadeTask::MeanVolume(), c10::kMeta);
      const Batch batch = batch_of(small_config(stage), 1);
      Sample example;
      for (const auto& [name, tensor] : batch.tensors) example[name] = tensor[0].to(at::kMeta);
      std::string why_not;
      const auto counted = count_activations(*task, example, Recompute::blocks, &why_not);
      ASSERT_TRUE(counted) << why_not;
      EXPECT_GT(counted->per_sample, 0);
    }
  }
}

TEST(CascadeTask, ScalesVolumesToADeviationOfOne) {
  const auto config = small_config(1);
  const auto task = task_of(config);
  const Batch batch = batch_of(config, 2);
  const double before = losses_of(*task, batch).parts.at("diffusion");
  task->prepare([&](const std::function<void(const Batch&)>& use) { use(batch); }, StepContext());
  EXPECT_NE(losses_of(*task, batch).parts.at("diffusion"), before);
  Batch flat = batch;
  flat.tensors[pair::volume] = at::full_like(batch.at(pair::volume), -1);
  EXPECT_THROW(task->prepare([&](const std::function<void(const Batch&)>& use) { use(flat); }, StepContext()),
               Error);
}

TEST(CascadeTask, SamplesARowAlikeInAnyBatch) {
  const auto config = small_config(2);
  const auto task = task_of(config);
  task->objectives().front().network->eval();
  const at::NoGradGuard no_gradient;
  const at::Tensor xrays = batch_of(config, 2).at(pair::radiographs).squeeze(2);
  const auto sampled = [&](const at::Tensor& some, std::vector<int64_t> examples) {
    const DrawScope draws(draws_for(std::move(examples)));
    return task->sample({.xrays = some});
  };
  const at::Tensor both = sampled(xrays, {4, 9});
  EXPECT_EQ(both.sizes(), at::IntArrayRef({2, 1, 16, 16, 16}));
  EXPECT_LE(both.abs().max().item<double>(), 1);
  EXPECT_TRUE(at::allclose(both[1], sampled(xrays.narrow(0, 1, 1), {9})[0], 1e-4, 1e-4));
  EXPECT_FALSE(at::allclose(both[1], sampled(xrays.narrow(0, 1, 1), {4})[0], 1e-2, 1e-2));
}

TEST(CascadeTask, IsGuidedTowardsTheMeasuredRadiographs) {
  auto config = small_config(1);
  const Batch batch = batch_of(config, 1);
  const at::NoGradGuard no_gradient;
  const auto distance = [&](double guidance, bool knows_intensity) {
    config.guidance = guidance;
    const auto task = task_of(config);
    const DrawScope draws(draws_for({0}));
    CascadeTask::Given given{.xrays = batch.at(pair::radiographs).squeeze(2)};
    if (knows_intensity) given.intensity = batch.at(pair::intensity);
    const at::Tensor seen = radiographs_of(task->sample(given), batch.at(pair::rays),
                                           batch.at(pair::intensity), 16, 16, config.pairs);
    return at::mse_loss(seen, batch.at(pair::radiographs)).item<double>();
  };
  const double alone = distance(0, true);
  EXPECT_LT(distance(0.1, true), 0.9 * alone);
  EXPECT_LT(distance(0.1, false), alone);
}

TEST(CascadeTask, PredictsHounsfieldUnitsInTheBodysCoordinates) {
  const auto config = small_config(2);
  const auto task = task_of(config);
  task->objectives().front().network->eval();
  const at::NoGradGuard no_gradient;
  Batch inputs;
  inputs.keys.push_back({});
  inputs.tensors["pa"] = at::rand({1, 1, 20, 20, 1});
  const DrawScope draws(draws_for({0}));
  EXPECT_THROW(task->predict(inputs, {}), Error) << "the lateral view is missing";
  inputs.tensors["lateral"] = at::rand({1, 1, 20, 20, 1});
  const Prediction prediction = task->predict(inputs, {});
  const Volume& volume = prediction.volumes.at("volume");
  EXPECT_EQ(volume.voxels.sizes(), at::IntArrayRef({1, 16, 16, 16}));
  EXPECT_GE(volume.voxels.min().item<double>(), -1000);
  EXPECT_LE(volume.voxels.max().item<double>(), 3000);
  EXPECT_EQ(volume.affine, config.pairs.positions(16));
  EXPECT_EQ(prediction.numbers.front().first, "reprojection_ncc");
}

}  // namespace
}  // namespace larmor::xray_to_ct
