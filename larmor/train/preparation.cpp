#include "larmor/train/preparation.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>

#include "larmor/base/text.h"
#include "larmor/checkpoint/state_parts.h"
#include "larmor/data/dataset_around.h"
#include "larmor/device/autocast.h"
#include "larmor/device/layout.h"
#include "larmor/device/memory/out_of_memory.h"
#include "larmor/task/batch_device.h"
#include "larmor/task/networks.h"
#include "larmor/train/snapshot.h"

namespace larmor {

namespace {

/// Leaves Task::prepare(), which begins again with other examples.
struct WithOtherExamples {};

/// This rank's micro-batches of the step to come, by a loader of their own. Collective.
void look_ahead(Loop& loop, MicroBatches& batches, Recovery& recovery,
                const std::function<void(const Batch&)>& use) {
  const auto& parts = loop.parts;
  const auto loader = parts.open_loader(loop.plan, loop.state.progress.examples, loop.bad.left_out());
  Votes votes;
  try {
    for (int64_t micro = 0; micro < loop.plan.accumulation; ++micro) {
      const auto batch = batches.feed().take(loader->next());
      const DrawScope draws(draw_position_of(batch));
      const AutocastScope autocast(parts.device.type(), loop.plan.precision);
      const LayoutScope layout(loop.plan.layout);
      loop.try_forward(batch, use);
    }
  } catch (...) {
    recovery.note_failure();
    votes.failed = true;
  }
  auto failed = at::full({1}, votes.failed ? 1.0 : 0.0, at::TensorOptions(parts.communicator.device()));
  parts.communicator.all_reduce(failed, Reduce::sum).wait();
  votes.failed = failed.item<double>() > 0;
  if (recovery.retry_of(votes) != Retry::none) throw WithOtherExamples();
}

/// Of those that a rank tries: names that only some cases give are looked for a little longer.
constexpr int64_t most_cases = 8;

/// Some examples of a dataset that follow one another. Borrows.
class CasesFrom final : public ExamplesOf {
 public:
  CasesFrom(const Dataset& all, int64_t first, int64_t count)
      : ExamplesOf(all), first_(first), count_(std::min(count, all.size() - first)) {}
  int64_t size() const override { return count_; }

 private:
  int64_t source_of(int64_t example) const override { return first_ + example; }

  const int64_t first_, count_;
};

/// "val/auc" of "val/auc@1y": where few cases define no part, its name is not to be had.
std::string without_part(const std::string& name) { return name.substr(0, name.find('@')); }

[[noreturn]] void refuse_metric(const std::string& wanted, const std::set<std::string>& known) {
  const std::vector<std::string> names(known.begin(), known.end());
  const auto near = nearest(wanted, names);
  fail(Exit::usage, text("checkpoint.metric is ", wanted, ", which validation does not give"),
       text(near.empty() ? "" : text("did you mean ", near, "? "), "set it to one of ", join(names, ", "),
            "; where only some cases give it, start with --no-check"));
}

}  // namespace

void look_at_first_batch(Loop& loop, MicroBatches& batches, Recovery& recovery) {
  const at::NoGradGuard no_gradients;
  const EvaluationMode evaluation(loop.parts.task);
  const auto whole = whole_networks(loop.parts.learners);
  for (bool is_done = false; !is_done;) {
    try {
      loop.parts.task.prepare([&](const auto& use) { look_ahead(loop, batches, recovery, use); },
                              loop.context());
      is_done = true;
    } catch (const WithOtherExamples&) {
      recovery.prepare(Retry::without_bad_examples);
    }
  }
}

void try_out(Loop& loop, Validations& validations) {
  const auto& parts = loop.parts;
  const auto& cases = parts.validation_cases;
  if (cases.size() == 0) return;
  const auto wanted = without_part(parts.config.checkpoint.metric);
  PartWriter before;
  parts.task.save(before);
  std::optional<CasesFrom> reference;
  if (parts.reference_cases != nullptr) reference.emplace(*parts.reference_cases, 0, most_cases);
  std::set<std::string> known;
  {
    const auto averaged = averaged_weights(parts.learners, parts.config);
    const auto whole = whole_networks(parts.learners);
    const int64_t ranks = parts.communicator.size();
    for (int64_t tried = 0; tried < most_cases && tried * ranks < cases.size(); ++tried) {
      known.merge(
          validations.names_given(CasesFrom(cases, tried * ranks, ranks), reference ? &*reference : nullptr));
      if (known.contains(wanted)) break;
    }
  }
  // What validation has measured is of a few cases.
  parts.task.load(PartReader(std::move(before.tensors), std::move(before.values), "the run's beginning"),
                  /*of_average=*/false);
  if (!known.empty() && !known.contains(wanted) && parts.stop_asked().empty()) refuse_metric(wanted, known);
  take_snapshot(parts.task, parts.learners, loop.state, loop.rank());
  release_cached_memory(parts.device);
}

}  // namespace larmor
