// What the planner asks of stages whose validation goes over whole cases: how large they are, and what
// judging one holds in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/config/run_config.h"
#include "larmor/data/index/index.h"
#include "larmor/plan/plan.h"
#include "larmor/train/task.h"

namespace larmor {

/// Voxels an axis of the case of the validation split that has most bytes, from the header of its image and
/// the transforms that set a size or a spacing; what they cut besides is not known before. 64 an axis where
/// no header can be read.
std::vector<int64_t> largest_case(const RunConfig& config, const Index& index);

/// Fills demand.validation_window_bytes and demand.validation_case_bytes from a pass of `judge`, which is
/// what the task does with images [1, channels, D, H, W] of whole cases, on the meta device. Moves the task's
/// networks there. A pass that looks at values is not counted, and the log says so.
void count_validation(Task& task, int64_t channels, const std::vector<int64_t>& case_size,
                      const ValidationConfig& validation,
                      const std::function<void(const at::Tensor& images)>& judge, Demand& demand);

}  // namespace larmor
