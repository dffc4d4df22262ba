#include "larmor/train/measure/demand_count.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/nn/module.h>

#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/data/loader/order.h"
#include "larmor/train/measure/activation_count.h"
#include "larmor/transforms/declared_chain.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

constexpr int64_t float_bytes = 4;

/// Of an epoch.
int64_t count_examples(const RunConfig& config, const Index& index, const Json& training_transforms) {
  const auto cases = static_cast<int64_t>(index.of(Split::train).size());
  if (cases == 0) return 0;
  const int64_t crops = TransformChain(training_transforms).samples_per_volume();
  return make_order(config.data, /*seed=*/0, cases * crops, crops).examples();
}

void count_model(const RunConfig& config, Task& task, Demand& demand) {
  int64_t numbers = 0;
  for (const Objective& objective : task.objectives()) {
    for (const at::Tensor& parameter : objective.network->parameters())
      demand.parameters += parameter.numel();
    for (const at::Tensor& buffer : objective.network->buffers()) numbers += buffer.numel();
  }
  demand.model_bytes = (demand.parameters + numbers) * float_bytes;
  demand.optimizer_bytes = demand.parameters * float_bytes * (config.optim.ema_decay > 0 ? 3 : 2);
}

void count_memory(Task& task, const Sample& example, Demand& demand) {
  std::string why_not;
  const auto count = [&](Recompute recompute, int64_t& bytes) {
    const auto counted = count_activations(task, example, recompute, &why_not);
    if (!counted) return;
    bytes = counted->fixed + counted->per_sample + counted->rerun_per_sample;
    demand.largest_block_bytes = counted->largest_block;
    demand.parameters_outside_blocks = counted->parameters_outside_blocks;
  };
  count(Recompute::none, demand.activation_bytes_per_sample);
  if (!why_not.empty()) {
    log::info(text("What a step keeps in memory is not known before it runs: ", why_not));
    return;
  }
  count(Recompute::blocks, demand.recomputed_bytes_per_sample);
  count(Recompute::all, demand.sectioned_bytes_per_sample);
}

}  // namespace

Sample image_to_count(int64_t channels, const std::vector<int64_t>& sizes) {
  constexpr int64_t usual_size = 64;
  std::vector<int64_t> shape{channels};
  for (const int64_t size : sizes) shape.push_back(size < 1 ? usual_size : size);
  return {{"image", at::empty(shape, at::kMeta)}};
}

Demand count_demand(const RunConfig& config, const Index& index, const Json& training_transforms, Task& task,
                    const Sample& example) {
  Demand demand;
  demand.training_examples = count_examples(config, index, training_transforms);
  for (const auto& entry : example) demand.sample_bytes += static_cast<int64_t>(entry.second.nbytes());
  count_model(config, task, demand);
  count_memory(task, example, demand);
  return demand;
}

}  // namespace larmor
