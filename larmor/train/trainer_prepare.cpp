// What a run needs to know of its data before its first step: Task::prepare() over the first global batch.
#include <exception>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>

#include "larmor/data/loader/loader.h"
#include "larmor/device/autocast.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/layout.h"
#include "larmor/task/batch_device.h"
#include "larmor/task/networks.h"
#include "larmor/train/trainer.h"

namespace larmor {

namespace {

/// Leaves Task::prepare(), which begins again with other examples.
struct WithOtherExamples {};

}  // namespace

void Trainer::prepare() {
  const at::NoGradGuard no_gradients;
  const EvaluationMode evaluation(parts_.task);
  const auto whole = whole_networks();
  for (bool is_done = false; !is_done;) {
    try {
      parts_.task.prepare([this](const auto& use) { look_ahead(use); }, context(nullptr));
      is_done = true;
    } catch (const WithOtherExamples&) {
      open_loader_again();
    }
  }
}

void Trainer::look_ahead(const std::function<void(const Batch&)>& use) {
  const auto loader = parts_.open_loader(plan_, state_.progress.examples, bad_.left_out());
  try {
    for (int64_t micro = 0; micro < plan_.accumulation; ++micro) {
      const auto batch = feed_.take(loader->next());
      const DrawScope draws(draw_position_of(batch));
      const AutocastScope autocast(parts_.device.type(), plan_.precision);
      const LayoutScope layout(plan_.layout);
      try_forward(batch, use);
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  auto failed = at::full({1}, failure_ ? 1.0 : 0.0, at::TensorOptions(parts_.communicator.device()));
  parts_.communicator.all_reduce(failed, Reduce::sum).wait();
  const Votes votes{.failed = failed.item<double>() > 0};
  if (leave_out_bad_examples(votes)) throw WithOtherExamples();
  settle_failure(votes);
}

}  // namespace larmor
