#include "larmor/train/loop.h"

#include <ATen/ATen.h>

#include "larmor/train/step/records.h"

namespace larmor {

namespace {

/// Memory may have run out in an earlier part of the run.
Plan plan_to_go_on_with(Plan plan, int64_t micro_batch) {
  while (micro_batch > 0 && plan.micro_batch > micro_batch) {
    auto smaller = with_smaller_micro_batch(plan);
    if (!smaller) break;
    plan = std::move(*smaller);
  }
  return plan;
}

}  // namespace

Loop::Loop(const TrainerParts& borrowed, const TrainerState& begun)
    : parts(borrowed),
      plan(plan_to_go_on_with(borrowed.plan, begun.micro_batch)),
      state(begun),
      bad(borrowed.training_cases, borrowed.quarantine, borrowed.communicator) {
  for (auto& learner : parts.learners) learner.parallel->set_accumulation(plan.accumulation);
}

StepContext Loop::context(Records* records) const {
  StepContext context;
  context.step = state.progress.step;
  context.epoch = parts.timetable.whole_epochs(state.progress);
  if (records != nullptr) {
    context.record = [records](const std::string& name, const at::Tensor& value) {
      records->add(name, value);
    };
    context.record_ratio = [records](const std::string& name, const at::Tensor& sum,
                                     const at::Tensor& count) { records->add_ratio(name, sum, count); };
  }
  const auto over_ranks = [this](Reduce operation) {
    return [this, operation](const at::Tensor& value) {
      // On the ranks' device, wherever the value is: those on GPUs reduce nothing else.
      const auto reduced = value.detach().to(parts.communicator.device(), value.scalar_type(),
                                             /*non_blocking=*/false, /*copy=*/true);
      parts.communicator.all_reduce(reduced, operation).wait();
      return reduced.to(value.device());
    };
  };
  context.mean_over_ranks = over_ranks(Reduce::mean);
  context.sum_over_ranks = over_ranks(Reduce::sum);
  return context;
}

void Loop::enter(Phase phase) {
  const int64_t step = state.progress.step;
  parts.board.set(rank(), phase, step);
  // Sinks write on threads of their own: none is to be caught within a write.
  if (parts.faults.stops_at(phase, step)) parts.tracker.flush();
  parts.faults.reach(phase, step);
}

void Loop::warn(std::string_view words, const Values& values) {
  if (!words.empty()) parts.tracker.event(moment(), "warning", values, words);
}

void Loop::advance() {
  auto& progress = state.progress;
  ++progress.step;
  progress.examples += plan.global_batch;
  const double now = parts.clock.steady_seconds();
  progress.elapsed_seconds += now - std::exchange(mark, now);
  if (!parts.timetable.needs_time(parts.config.checkpoint, parts.config.track)) return;
  // Clocks differ: rank 0's decides what is due on every rank.
  const auto seconds =
      at::full({1}, progress.elapsed_seconds, at::TensorOptions().dtype(at::kDouble).device(parts.device));
  parts.communicator.broadcast(seconds, 0).wait();
  progress.elapsed_seconds = seconds.item<double>();
}

}  // namespace larmor
