#include "larmor/task/pass.h"

#include <ATen/TensorOperators.h>

#include "larmor/device/autocast.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/layout.h"
#include "larmor/device/run_block.h"
#include "larmor/task/batch_device.h"
#include "larmor/task/networks.h"

namespace larmor {

namespace {

struct PassScope {
  PassScope(const Batch& batch, const PassOptions& options, const at::Tensor& keys = {})
      : draws(draw_position_of(batch), keys),
        autocast(options.device.type(), options.precision),
        layout(options.layout),
        recompute(options.recompute) {}

  DrawScope draws;
  AutocastScope autocast;
  LayoutScope layout;
  RecomputeScope recompute;
};

}  // namespace

std::vector<at::Tensor> losses_of(Task& task, const Batch& batch, const StepContext& context,
                                  const PassOptions& options, const at::Tensor& keys) {
  const PassScope scope(batch, options, keys);
  return task.losses(batch, context);
}

at::Tensor LossShare::of(const at::Tensor& loss, const StepContext& context) const {
  // A part of a sum counts as often as there are ranks.
  return context.counts.defined() ? loss * static_cast<double>(ranks)
                                  : loss / static_cast<double>(accumulation);
}

at::Tensor rows_of(WholeBatchLoss& loss, const Batch& batch, const StepContext& context,
                   const PassOptions& options) {
  const PassScope scope(batch, options);
  return loss.rows(batch, context);
}

StepContext measuring_context(Task& task, const Batch& batch, Precision precision) {
  constexpr int64_t past_every_warm_up = int64_t{1} << 40;
  StepContext context;
  context.epoch = past_every_warm_up;
  if (task.counted() > 0) context.counts = task.counts(batch).to(weight_type(precision));
  return context;
}

}  // namespace larmor
