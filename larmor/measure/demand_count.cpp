#include "larmor/measure/demand_count.h"

#include <optional>
#include <string>

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/nn/module.h>

#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/data/loader/order.h"
#include "larmor/measure/activation_count.h"
#include "larmor/measure/peak_count.h"
#include "larmor/optim/optimizer.h"
#include "larmor/transforms/declared_chain.h"
#include "larmor/transforms/transforms.h"

namespace larmor {
namespace {

constexpr int64_t float_bytes = 4;

/// Optimizer's states and averages.
int64_t numbers_kept_a_parameter(const OptimConfig& optim) {
  int64_t kept = optim.ema_decay > 0 ? 1 : 0;
  for (const StateKind& kind : state_kinds(optim)) kept += kind.is_scalar ? 0 : 1;
  return kept;
}

/// The number of examples of one epoch.
int64_t count_examples(const RunConfig& config, const Index& index, const Json& training_transforms) {
  const auto cases = static_cast<int64_t>(index.of(Split::train).size());
  if (cases == 0) return 0;
  const int64_t crops = TransformChain(training_transforms).samples_per_volume();
  return make_order(config.data, /*seed=*/0, cases * crops, crops).examples();
}

void count_model(const RunConfig& config, Task& task, Demand& demand) {
  int64_t numbers = 0, state_bytes = 0;
  for (const Objective& objective : task.objectives()) {
    int64_t parameters = 0;
    for (const at::Tensor& parameter : objective.network->parameters()) parameters += parameter.numel();
    demand.parameters += parameters;
    state_bytes += parameters * float_bytes * numbers_kept_a_parameter(config.optim_of(objective.name));
    for (const at::Tensor& buffer : objective.network->buffers()) numbers += buffer.numel();
  }
  demand.model_bytes = (demand.parameters + numbers) * float_bytes;
  demand.optimizer_bytes = state_bytes;
  for (const torch::nn::Module* const companion : task.companions()) {
    for (const at::Tensor& tensor : companion->parameters())
      demand.frozen_bytes += tensor.numel() * float_bytes;
    for (const at::Tensor& tensor : companion->buffers()) demand.frozen_bytes += tensor.numel() * float_bytes;
  }
}

/// What stays of a step's memory where backward cannot be counted.
int64_t held_of_a_sample(const std::optional<ActivationCount>& counted) {
  return counted ? counted->fixed + counted->per_sample + counted->rerun_per_sample : 0;
}

void count_memory(Task& task, const Sample& example, Demand& demand) {
  std::string why_not;
  const auto counted = count_activations(task, example, Recompute::none, &why_not);
  if (!counted) {
    log::info(text("What a step keeps in memory is not known before it runs: ", why_not));
    return;
  }
  demand.largest_block_bytes = counted->largest_block;
  demand.parameters_outside_blocks = counted->parameters_outside_blocks;
  const auto count = [&](Recompute recompute, int64_t& bytes) {
    // Batch norm refuses one. With more, what does not grow with them is a smaller part of each.
    constexpr int64_t samples = 2;
    const auto peak = count_peak(task, example, samples, recompute, &why_not);
    bytes = peak ? *peak / samples
                 : held_of_a_sample(
                       recompute == Recompute::none ? counted : count_activations(task, example, recompute));
  };
  count(Recompute::none, demand.activation_bytes_per_sample);
  count(Recompute::blocks, demand.recomputed_bytes_per_sample);
  count(Recompute::all, demand.sectioned_bytes_per_sample);
  if (!why_not.empty())
    log::info(
        text("What backward takes of memory is not known before it runs, only what forward keeps for it: ",
             why_not));
}

}  // namespace

Sample image_to_count(int64_t channels, const std::vector<int64_t>& sizes) {
  std::vector<int64_t> shape{channels};
  shape.insert(shape.end(), sizes.begin(), sizes.end());
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
