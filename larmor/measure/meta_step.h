// A step of a task on the meta device, where nothing is computed and no memory is taken.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "larmor/data/dataset.h"
#include "larmor/plan/kinds.h"
#include "larmor/task/task.h"

namespace larmor {

/// The task's networks are there and in training mode afterwards.
void prepare_on_meta(Task& task);

/// A batch without values: of `example` only names, shapes and types matter.
Batch meta_batch(const Sample& example, int64_t samples);

/// losses(), or rows() of a loss of the whole batch, past every warm-up and with their graph. Requires:
/// prepare_on_meta(). Throws c10::Error where the forward looks at values.
std::vector<at::Tensor> results_on_meta(Task& task, const Batch& batch, Recompute recompute);

/// All three: one forward of the task.
std::vector<at::Tensor> forward_on_meta(Task& task, const Sample& example, int64_t samples);

/// The first line of an error's words, without libtorch's stack.
std::string brief_reason(const std::exception& error);

}  // namespace larmor
