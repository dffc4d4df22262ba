// What judging a whole case holds in memory, and sampling for a picture.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/config/run_config.h"
#include "larmor/plan/plan.h"
#include "larmor/task/task.h"

namespace larmor {

/// Fills demand.validation_…_bytes from a pass of `judge`, which is what the task does with images [1,
/// channels, D, H, W] of whole cases, on the meta device. Moves the task's networks there. A pass that looks
/// at values is not counted, and the log says so.
void count_validation(Task& task, int64_t channels, const std::vector<int64_t>& case_size,
                      const ValidationConfig& validation,
                      const std::function<void(const at::Tensor& images)>& judge, Demand& demand);

/// The same from `sample`, which is what the task does on the meta device for an image that it samples for a
/// picture while a run trains.
void count_sampling(Task& task, const std::function<void()>& sample, Demand& demand);

}  // namespace larmor
