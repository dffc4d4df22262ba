#include "larmor/task/undrawn_task.h"

#include <algorithm>
#include <set>
#include <vector>

#include <torch/nn/module.h>

#include "larmor/device/initialisation.h"

namespace larmor {

namespace {

bool are_of_objectives(const std::vector<at::Tensor>& weights, Task& task) {
  std::set<const c10::TensorImpl*> theirs;
  for (const Objective& objective : task.objectives()) {
    for (const at::Tensor& parameter : objective.network->parameters())
      theirs.insert(parameter.unsafeGetTensorImpl());
  }
  return std::ranges::all_of(
      weights, [&](const at::Tensor& weight) { return theirs.contains(weight.unsafeGetTensorImpl()); });
}

}  // namespace

std::unique_ptr<Task> undrawn_task(const Stage& stage, const RunConfig& config, const Index& index) {
  {
    const SkippedInitialisation skipped;
    auto task = stage.task(config, index);
    if (are_of_objectives(skipped.undrawn(), *task)) return task;
  }
  const DrawnInitialisation drawn;
  return stage.task(config, index);
}

}  // namespace larmor
