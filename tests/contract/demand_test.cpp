// What every stage tells the planner, against a step of its task on its data.
#include <algorithm>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/nn/module.h>

#include "larmor/base/text.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/memory/memory_meter.h"
#include "larmor/measure/peak_count.h"
#include "larmor/run/loaded_stage.h"

#include "tests/contract/trial_run.h"

namespace larmor::testing {
namespace {

class DemandOf : public ::testing::TestWithParam<StageName> {};

Batch first_two(const Stage& stage, const RunConfig& config, const Index& index) {
  const auto dataset = stage.dataset(config, index, Split::train);
  const std::vector<ExampleKey> keys{{.seed = 1, .epoch = 0, .example = 0},
                                     {.seed = 1, .epoch = 0, .example = 1}};
  return collate({dataset->get(keys[0]), dataset->get(keys[1])}, keys);
}

/// Of its images; of a stage whose samples hold none under that name, of everything.
int64_t sample_bytes_of(const Batch& batch) {
  if (batch.tensors.contains("image")) return static_cast<int64_t>(batch.at("image").nbytes());
  int64_t bytes = 0;
  for (const auto& [name, tensor] : batch.tensors) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

TEST_P(DemandOf, IsWhatAStepHolds) {
  const auto& [workload, name] = GetParam();
  const auto loaded = load_stage(tiny_sources(GetParam()), workload_named(workload), name);
  const Stage& stage = *loaded.stage;
  const RunConfig& config = loaded.config.config;
  const Index index = stage.index(config);
  const Demand demand = stage.demand(config, index);

  start_memory_meter();
  const auto task = stage.task(config, index);
  int64_t parameters = 0;
  for (const auto& objective : task->objectives()) {
    objective.network->train();
    for (const auto& parameter : objective.network->parameters()) parameters += parameter.numel();
  }
  EXPECT_EQ(demand.parameters, parameters);
  EXPECT_GE(demand.model_bytes, parameters * 4);
  EXPECT_EQ(demand.training_examples, stage.dataset(config, index, Split::train)->size());

  const Batch batch = first_two(stage, config, index);
  EXPECT_EQ(demand.sample_bytes * batch.size(), sample_bytes_of(batch));
  const DrawScope draws({.seed = 1, .epochs = {0, 0}, .examples = {0, 1}, .positions = {0, 1}});
  StepContext context;
  context.epoch = 1000;
  if (task->counted() > 0) context.counts = task->counts(batch);
  reset_metered_peak();
  const auto before = metered_memory().held;
  auto* const whole = task->whole_batch_loss();
  const auto results =
      whole != nullptr ? std::vector<at::Tensor>{whole->rows(batch, context)} : task->losses(batch, context);
  const auto held = static_cast<double>(metered_memory().held - before);
  for (const auto& result : results) result.sum().backward();
  // What lives at the peak is more than what forward has kept. A CPU takes more: for gradients of weights,
  // and for convolutions.
  const auto taken = static_cast<double>(metered_memory().peak - before);
  const auto counted = static_cast<double>(2 * demand.activation_bytes_per_sample);
  EXPECT_GE(counted, 0.99 * held);
  EXPECT_LE(counted, 1.01 * taken);
  EXPECT_LE(demand.recomputed_bytes_per_sample, demand.activation_bytes_per_sample);
  EXPECT_GT(demand.recomputed_bytes_per_sample, 0);
  EXPECT_GT(demand.sectioned_bytes_per_sample, 0);
  EXPECT_GT(demand.largest_block_bytes, 0);
  EXPECT_LT(demand.largest_block_bytes, demand.model_bytes);
  EXPECT_LT(demand.parameters_outside_blocks, demand.parameters);
}

TEST_P(DemandOf, IsCountedWithBackward) {
  const auto& [workload, name] = GetParam();
  const auto loaded = load_stage(tiny_sources(GetParam()), workload_named(workload), name);
  const RunConfig& config = loaded.config.config;
  const Index index = loaded.stage->index(config);
  const auto task = loaded.stage->task(config, index);
  Sample example;
  for (const auto& [sample, tensor] : first_two(*loaded.stage, config, index).tensors)
    example[sample] = tensor[0].to(at::kMeta);
  for (const auto recompute : {Recompute::none, Recompute::blocks, Recompute::all}) {
    std::string why_not;
    EXPECT_TRUE(count_peak(*task, example, /*samples=*/2, recompute, &why_not)) << why_not;
  }
}

TEST_P(DemandOf, IsCountedWithoutWeights) {
  const auto& [workload, name] = GetParam();
  const auto loaded = load_stage(tiny_sources(GetParam()), workload_named(workload), name);
  const RunConfig& config = loaded.config.config;
  const Index index = loaded.stage->index(config);
  const uint64_t generator = default_generator_fingerprint();
  start_memory_meter();
  reset_metered_peak();
  const auto before = metered_memory().held;
  const Demand demand = loaded.stage->demand(config, index);
  // The counting itself holds a few kilobytes, which is more than a tenth of the smallest network.
  constexpr int64_t held_by_counting = 8192;
  EXPECT_LT(metered_memory().peak - before, std::max(demand.model_bytes / 10, held_by_counting));
  EXPECT_EQ(default_generator_fingerprint(), generator);
}

INSTANTIATE_TEST_SUITE_P(Every, DemandOf, ::testing::ValuesIn(stage_names()), name_of);

}  // namespace
}  // namespace larmor::testing
