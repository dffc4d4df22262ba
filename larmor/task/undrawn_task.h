// A task whose networks are loaded next: drawing their weights first would be in vain.
#pragma once

#include <memory>

#include "larmor/task/stage.h"

namespace larmor {

/// Stage::task() with zeros in place of the weights that its objectives' networks would draw; whoever asks
/// for it loads all weights of each network that is used (load_state_dict() refuses where one is missing).
/// Where a draw is for anything else, such as a companion that is loaded from nowhere, all are drawn as ever.
std::unique_ptr<Task> undrawn_task(const Stage& stage, const RunConfig& config, const Index& index);

}  // namespace larmor
