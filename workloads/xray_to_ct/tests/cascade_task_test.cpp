#include "workloads/xray_to_ct/stage/cascade_task.h"

#include <map>
#include <set>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/device/draw_position.h"
#include "larmor/kernels/projector.h"
#include "larmor/train/measure/activation_count.h"
#include "larmor/train/prediction.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"

namespace larmor::xray_to_ct {
namespace {

CascadeConfig small_config(int64_t stage) {
  CascadeConfig config(stage);
  config.network = {.volume_size = stage == 1 ? 8 : 16,
                    .patch_size = 2,
                    .channels = {8},
                    .voxel_dim = 8,
                    .vit_depth = 1,
                    .num_heads = 2,
                    .xray_channels = 8,
                    .lifted_channels = 2,
                    .xray_tokens = 2,
                    .dropout = 0};
  config.pairs.radiograph_size = 16;
  config.sampling.num_inference_steps = 3;
  config.sampling.timestep_spacing = nn::TimestepSpacing::trailing;
  return config;
}

std::unique_ptr<CascadeTask> task_of(const CascadeConfig& config, c10::Device device = c10::kCPU) {
  std::unique_ptr<CascadeTask> before;
  if (config.stage > 1) before = task_of(small_config(config.stage - 1), device);
  auto task =
      std::make_unique<CascadeTask>(config, /*seed=*/1, std::move(before), CascadeTask::MeanVolume(), device);
  if (device.is_meta()) return task;
  const at::NoGradGuard no_gradient;  // a new network gives zeros, whatever it is given
  at::manual_seed(3);
  for (auto& parameter : task->objectives().front().network->parameters())
    parameter.add_(0.05 * at::randn_like(parameter));
  for (torch::nn::Module* const network : task->companions()) network->eval();
  return task;
}

/// A pair as the data have them: a box in a box, and its radiographs.
Batch batch_of(const CascadeConfig& config, int64_t rows) {
  const int64_t size = config.network.volume_size, pixels = config.pairs.radiograph_size;
  Batch batch;
  std::vector<at::Tensor> volumes;
  for (int64_t row = 0; row < rows; ++row) {
    const at::Tensor hu = at::full({1, size, size, size}, -1000.0, at::kFloat);
    hu.slice(1, 2, size - 2).slice(2, 1, size - 1).slice(3, 1 + row % 2, size - 1).fill_(40);
    hu.slice(1, 3, 5).slice(2, 3, 6).slice(3, 3, 6).fill_(700);
    volumes.push_back(unit_of_hu(hu, config.pairs));
    batch.keys.push_back({.seed = 5, .epoch = 0, .example = row});
  }
  batch.tensors[pair::volume] = at::stack(volumes);
  batch.tensors[pair::rays] =
      ray_geometry(config.pairs.views(2), config.pairs.positions(size)).unsqueeze(0).repeat({rows, 1, 1});
  batch.tensors[pair::intensity] = at::tensor({0.5F, -1.0F}).expand({rows, 2, 2}).contiguous();
  batch.tensors[pair::radiographs] = radiographs_of(batch.at(pair::volume), batch.at(pair::rays),
                                                    batch.at(pair::intensity), pixels, pixels, config.pairs);
  if (config.stage > 1)
    batch.tensors[CascadeTask::earlier_name] = at::adaptive_avg_pool3d(batch.at(pair::volume), {8, 8, 8});
  return batch;
}

DrawPosition draws_for(std::vector<int64_t> examples) {
  return {.seed = 5, .epochs = std::vector<int64_t>(examples.size(), 0), .examples = std::move(examples)};
}

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
