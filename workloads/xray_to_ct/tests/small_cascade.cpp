#include "workloads/xray_to_ct/tests/small_cascade.h"

#include <utility>

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "larmor/kernels/projector/projector.h"

#include "workloads/xray_to_ct/data/pair_dataset.h"

namespace larmor::xray_to_ct {

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

std::unique_ptr<CascadeTask> task_of(const CascadeConfig& config, c10::Device device,
                                     CascadeTask::MeanVolume mean) {
  std::unique_ptr<CascadeTask> before;
  if (config.stage > 1) before = task_of(small_config(config.stage - 1), device);
  auto task = std::make_unique<CascadeTask>(config, /*seed=*/1, std::move(before), std::move(mean), device);
  if (device.is_meta()) return task;
  const at::NoGradGuard no_gradient;  // a new network gives zeros, whatever it is given
  at::manual_seed(3);
  for (auto& parameter : task->objectives().front().network->parameters())
    parameter.add_(0.05 * at::randn_like(parameter));
  for (torch::nn::Module* const network : task->companions()) network->eval();
  return task;
}

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
  std::vector<int64_t> epochs(examples.size(), 0);
  return {.seed = 5, .epochs = std::move(epochs), .examples = std::move(examples)};
}

}  // namespace larmor::xray_to_ct
