// Which blocks of a task's networks pass through nn::run_block, in the order of a forward: what ZeRO-3 cuts.
#pragma once

#include <vector>

#include "larmor/data/dataset.h"
#include "larmor/task/stage.h"
#include "larmor/task/task.h"

namespace torch::nn {
class Module;
}

namespace larmor {

/// One list for each objective.
using BlockOrder = std::vector<std::vector<const torch::nn::Module*>>;

/// The order of blocks, for each objective of `task`, modules of its network, each at its first pass. Learned
/// from a forward of `trial`, another task made alike, whose networks move to the meta device; of `example`
/// only names, shapes and types matter. Throws Error (usage) for a forward that looks at values, and for one
/// that uses a parameter of a block outside the block.
BlockOrder block_order(Task& task, Task& trial, const Sample& example);

/// The same of a stage's task, from the shapes of its first example that can be read; empty lists unless
/// the plan's strategy is ZeRO-3.
BlockOrder blocks_to_cut(const Stage& stage, const RunConfig& config, const Plan& plan, const Index& index,
                         const Dataset& cases, Task& task);

}  // namespace larmor
