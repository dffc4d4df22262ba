// The most that a step of a task holds of memory at a time, learned from a forward and a backward pass on the
// meta device: nothing is computed, and no memory is taken.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "larmor/data/dataset.h"
#include "larmor/plan/kinds.h"
#include "larmor/task/task.h"

namespace larmor {

/// The peak of a step on so many samples, past every warm-up, in bytes and in the networks' own number
/// format: what is saved for backward, gradients of activations, what operators make on their way, and the
/// gradient of a parameter until it is added to those of the step. Weights, buffers, the batch, the gradients
/// of a step and workspaces of libraries are not in it. The task's networks are on the meta device and in
/// training mode afterwards. Of `example` only names, shapes and types matter. Nothing, and the reason in
/// `why_not`, where forward or backward looks at values or has an operator whose shapes nobody knows.
std::optional<int64_t> count_peak(Task& task, const Sample& example, int64_t samples, Recompute recompute,
                                  std::string* why_not = nullptr);

}  // namespace larmor
