// What the planner asks of every stage, counted alike for all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "larmor/base/json.h"
#include "larmor/config/run_config.h"
#include "larmor/data/dataset.h"
#include "larmor/data/index/index.h"
#include "larmor/plan/plan.h"
#include "larmor/task/task.h"

namespace larmor {

/// An example [C, D, H, W] of shapes alone.
Sample image_to_count(int64_t channels, const std::vector<int64_t>& sizes);

/// Fills everything but what is the stage's own to say: preferred_micro_batch and batch_norm. Moves the
/// task's networks to the meta device. `training_transforms`: the chain that training applies.
Demand count_demand(const RunConfig& config, const Index& index, const Json& training_transforms, Task& task,
                    const Sample& example);

}  // namespace larmor
