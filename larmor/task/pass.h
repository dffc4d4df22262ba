// One micro-batch through a task's forward, as training computes it. Whoever trains, measures or counts a
// step comes through here.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "larmor/plan/plan.h"
#include "larmor/task/task.h"

namespace larmor {

struct PassOptions {
  c10::Device device{c10::kCPU};
  Precision precision = Precision::fp32;
  Layout layout = Layout::contiguous;
  Recompute recompute = Recompute::none;

  static PassOptions of(const Plan& plan, c10::Device device) {
    return {
        .device = device, .precision = plan.precision, .layout = plan.layout, .recompute = plan.recompute};
  }
};

/// Task::losses() under the batch's draws, the precision and the recomputation. The batch is on the device,
/// and so may be its draw_keys().
std::vector<at::Tensor> losses_of(Task& task, const Batch& batch, const StepContext& context,
                                  const PassOptions& options, const at::Tensor& keys = {});

/// What of the step's loss a micro-batch's is: gradients are summed over micro-batches and averaged over
/// ranks.
struct LossShare {
  int64_t accumulation = 1;
  int ranks = 1;

  at::Tensor of(const at::Tensor& loss, const StepContext& context) const;
};

/// WholeBatchLoss::rows() in the same surroundings.
at::Tensor rows_of(WholeBatchLoss& loss, const Batch& batch, const StepContext& context,
                   const PassOptions& options);

/// The context for a step that is measured or counted and teaches nothing: past every warm-up, alone, and of
/// `batch` only, as the loader has it. The counts lie where the batch does.
StepContext measuring_context(Task& task, const Batch& batch, Precision precision);

}  // namespace larmor
