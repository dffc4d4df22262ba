// One step of the loop: data, model, losses, backward and reduction, optimizer.
#include <algorithm>
#include <optional>
#include <utility>

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/device.h"
#include "larmor/device/memory/out_of_memory.h"
#include "larmor/device/rank_sum.h"
#include "larmor/device/send.h"
#include "larmor/launch/rank_lost.h"
#include "larmor/optim/loss_scale.h"
#include "larmor/task/networks.h"
#include "larmor/train/kept_buffers.h"
#include "larmor/train/pass_graphs.h"
#include "larmor/train/step_counts.h"
#include "larmor/train/trainer.h"
#include "larmor/train/whole_batch.h"

namespace larmor {

namespace {

/// Vectors of one type and device, brought to the host by one copy.
std::vector<at::Tensor> to_host(const std::vector<at::Tensor>& vectors) {
  std::vector<int64_t> lengths;
  for (const auto& vector : vectors) lengths.push_back(vector.numel());
  return at::cat(vectors).to(at::kCPU).split_with_sizes(lengths);
}

/// What the device has found out travels with the gradients: no host waits for it here.
void note_whether_finite(const at::Tensor& loss, Votes& votes) {
  const auto is_odd = at::isfinite(loss.detach()).logical_not().to(at::kFloat).reshape({});
  auto& odd = votes.non_finite_losses;
  odd = odd.defined() ? odd + is_odd : is_odd;
}

/// The first objective's values carry the plain names, the others' their own.
std::string suffix_of(size_t place, const Learner& learner) {
  return place == 0 ? std::string() : "_" + learner.objective.name;
}

}  // namespace

// The host's clock tells a device's time as well, without an event: reduce() waits for the device once a
// step, so that a step ends where gradients have met. What the optimizer launches behind that counts for the
// next step.
Trainer::StepOutcome Trainer::step() {
  const double started = parts_.clock.steady_seconds();
  std::optional<StepOutcome> outcome;
  while (!outcome) outcome = try_step();
  const double seconds = parts_.clock.steady_seconds() - started;
  longest_step_ = std::max(longest_step_, seconds);
  outcome->values["perf/step_ms"] = seconds * 1e3;
  outcome->values["perf/samples_per_second"] = static_cast<double>(plan_.global_batch) / seconds;
  const double waited = loader_->take_wait_seconds();
  outcome->values["perf/data_wait"] = waited / seconds;
  data_wait_.add_step(seconds, waited, loader_->take_stage_seconds());
  outcome->values["mem/peak_gib"] = static_cast<double>(peak_memory_bytes(parts_.device)) / (1 << 30);
  return *outcome;
}

std::optional<Trainer::StepOutcome> Trainer::try_step() {
  const auto now = context(nullptr);
  std::vector<bool> active;
  std::vector<const torch::nn::Module*> networks;
  for (const auto& learner : parts_.learners) {
    active.push_back(parts_.task.is_active(learner.objective, now));
    networks.push_back(learner.objective.network);
  }
  const KeptBuffers buffers(networks);  // for a step that may have to be done again

  Records records;
  Votes votes{.stop = is_time_up() || !parts_.stop_asked().empty()};
  accumulate(active, records, votes);  // data, model, losses, backward / reduce
  enter(Phase::communicating);
  Reduction reduction = reduce(active, votes, records);
  const bool without_some = leave_out_bad_examples(reduction.votes);
  if (without_some || (reduction.votes.out_of_memory && !reduction.votes.failed)) {
    for (auto& learner : parts_.learners) learner.parallel->forget();
    buffers.restore();
    without_some ? open_loader_again() : take_smaller_micro_batches();
    return std::nullopt;
  }
  settle_failure(reduction.votes);

  if (reduction.votes.new_names) {
    records.share_names(record_names_, parts_.communicator);
    reduction.values = records.mean(plan_.accumulation, records_prefix, record_names_, parts_.communicator);
  }
  StepOutcome outcome{.stop = reduction.votes.stop,
                      .save_ended = reduction.votes.save_ended,
                      .values = std::move(reduction.values)};
  if (reduction.finite && !reduction.votes.non_finite) {
    move_weights(active, reduction.reduced, outcome.values);  // optimizer
  } else {
    skip_step(active, reduction, outcome.values);
  }
  return outcome;
}

Trainer::Reduction Trainer::reduce(const std::vector<bool>& active, const Votes& own,
                                   const Records& records) {
  std::vector<at::Tensor> met;
  for (size_t i = 0; i < parts_.learners.size(); ++i) {
    if (active[i]) met.push_back(parts_.learners[i].parallel->meet());
  }
  met.push_back(records.meet(plan_.accumulation, record_names_, parts_.communicator));
  // The host waits for the device here alone. What a loss needs of other ranks before travels between hosts,
  // or between devices.
  const std::vector<at::Tensor> on_host = to_host(met);

  Reduction reduction{.votes = own, .reduced = std::vector<Reduced>(parts_.learners.size())};
  auto next = on_host.begin();
  for (size_t i = 0; i < parts_.learners.size(); ++i) {
    if (!active[i]) continue;
    reduction.reduced[i] = parts_.learners[i].parallel->settle(*next++);
    reduction.finite = reduction.finite && reduction.reduced[i].finite;
    reduction.votes.add(reduction.reduced[i].votes);
  }
  reduction.values = Records::values_of(*next, records_prefix, record_names_);
  return reduction;
}

void Trainer::accumulate(const std::vector<bool>& active, Records& records, Votes& votes) {
  const RankSumScope all_ranks(parts_.rank_sums);
  try {
    if (auto* const whole = parts_.task.whole_batch_loss()) {
      accumulate_whole(*whole, records, votes);
      return;
    }
    if (parts_.task.counted() > 0) {
      accumulate_counted(active, records, votes);
      return;
    }
    const auto now = context(&records);
    for (int64_t micro = 0; micro < plan_.accumulation; ++micro)
      forward_backward(next_batch(votes), nullptr, micro + 1 == plan_.accumulation, active, now, records,
                       votes);
  } catch (...) {
    // The others are on their way into this step's collectives: take part with zeros and a flag, so that
    // all ranks come out of the step together. Where that cannot be, this rank's end tells them.
    failure_ = std::current_exception();
    const bool no_memory = is_out_of_memory(failure_);
    // If this rank failed only because a peer was lost, it does not vote `failed`: the peer that failed first
    // reports the cause.
    const Votes why{.failed = !no_memory && !is_rank_lost(failure_), .out_of_memory = no_memory};
    votes.add(why);
    bool together = leave_sums();
    for (size_t i = 0; i < parts_.learners.size(); ++i) {
      if (active[i]) together = parts_.learners[i].parallel->fail_step(why) && together;
    }
    if (!together) leave_alone(no_memory);
  }
}

Batch Trainer::next_batch(Votes& votes) {
  enter(Phase::waiting_for_data);
  auto batch = loader_->next();
  bad_.add(loader_->quarantine());
  votes.bad_file = bad_.has_new();
  votes.save_ended = saves_.has_ended();
  enter(Phase::computing);
  return batch;
}

void Trainer::copy_ahead(const Batch* next) {
  if (next == nullptr) next = loader_->upcoming();
  if (next != nullptr) feed_.copy_ahead(*next);
}

void Trainer::accumulate_whole(WholeBatchLoss& loss, Records& records, Votes& votes) {
  auto& learner = parts_.learners.front();
  WholeBatch whole(loss, *learner.objective.network,
                   {.accumulation = plan_.accumulation,
                    .pass = PassOptions::of(plan_, parts_.device),
                    .take = [this](Batch host) {
                      Batch batch = feed_.take(std::move(host));
                      copy_ahead();
                      return batch;
                    }});
  std::exception_ptr failure;
  try {
    for (int64_t micro = 0; micro < plan_.accumulation; ++micro) {
      try_forward(next_batch(votes), [&](const Batch& part) { whole.forward(part, context(nullptr)); });
    }
  } catch (...) {
    failure = std::current_exception();
    if (!leave_sums()) throw;
  }
  // A rank that has failed takes part all the same: the others wait for its rows.
  auto now = context(&records);
  const double micro_batches = static_cast<double>(plan_.accumulation);
  now.record = [&records, micro_batches](const std::string& name, const at::Tensor& value) {
    records.add(name, value * micro_batches);  // records are means over micro-batches
  };
  const bool met = whole.gather(failure == nullptr, now, parts_.communicator, on_host());
  if (failure) std::rethrow_exception(failure);
  if (!met) {
    learner.parallel->fail_step({});  // the rank that failed says why
    return;
  }
  note_whether_finite(whole.loss(), votes);
  votes.new_names = records.has_new(record_names_);
  for (int64_t micro = 0; micro < plan_.accumulation; ++micro)
    learner.parallel->backward(whole.share_of(micro, context(nullptr)), micro + 1 == plan_.accumulation,
                               votes);
  copy_ahead();  // where no worker had it ready before
}

void Trainer::accumulate_counted(const std::vector<bool>& active, Records& records, Votes& votes) {
  std::vector<Batch> batches;
  std::exception_ptr failure;
  at::Tensor counts = at::zeros({parts_.task.counted()}, at::kDouble);
  try {
    for (int64_t micro = 0; micro < plan_.accumulation; ++micro) {
      batches.push_back(next_batch(votes));
      at::Tensor of_batch;
      try_forward(batches.back(), [&](const Batch& part) { of_batch = parts_.task.counts(part); });
      counts += of_batch.to(at::kDouble);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  // A rank that has failed takes part all the same: the others wait for its counts.
  const auto of_step = sum_counts(counts, failure == nullptr, on_host());
  if (failure) std::rethrow_exception(failure);
  if (!of_step) {
    for (size_t i = 0; i < parts_.learners.size(); ++i) {
      if (active[i]) parts_.learners[i].parallel->fail_step({});  // the rank that failed says why
    }
    return;
  }
  auto now = context(&records);
  now.counts = send(of_step->to(weight_type(plan_.precision)), parts_.device);
  for (size_t micro = 0; micro < batches.size(); ++micro) {
    const bool last = micro + 1 == batches.size();
    forward_backward(std::move(batches[micro]), last ? nullptr : &batches[micro + 1], last, active, now,
                     records, votes);
  }
}

void Trainer::forward_backward(Batch batch, const Batch* next, bool last, const std::vector<bool>& active,
                               const StepContext& now, const Records& records, Votes& votes) {
  const auto on_device = feed_.take(std::move(batch));
  copy_ahead(next);
  const ComputedPass* computed = nullptr;
  std::vector<at::Tensor> losses;
  try_forward(on_device, [&](const Batch& part) {
    computed = graphs_ ? graphs_->compute(part, now, active) : nullptr;
    losses = computed != nullptr ? computed->losses
                                 : losses_of(parts_.task, part, now, PassOptions::of(plan_, parts_.device));
  });
  for (const auto& loss : losses) {
    if (loss.defined()) note_whether_finite(loss, votes);
  }
  votes.new_names = records.has_new(record_names_);
  for (size_t i = 0; i < parts_.learners.size(); ++i) {
    if (!active[i]) continue;
    auto& parallel = *parts_.learners[i].parallel;
    if (computed != nullptr) {
      parallel.receive(computed->gradients[i], last, votes);
    } else {
      parallel.backward(share_of_losses().of(losses[i], now), last, votes);
    }
  }
  copy_ahead(next);  // where no worker had it ready before
}

void Trainer::move_weights(const std::vector<bool>& active, const std::vector<Reduced>& reduced,
                           Values& values) {
  for (size_t i = 0; i < parts_.learners.size(); ++i) {
    if (!active[i]) continue;
    auto& learner = parts_.learners[i];
    const auto& schedule = learner.optim.schedule;
    const double share = parts_.timetable.share(state_.progress);
    const double rate = learning_rate(schedule, learner.optim.learning_rate, learner.schedule_steps,
                                      state_.progress.step, plateau_of(learner), share);
    learner.parallel->step(rate);
    const auto suffix = suffix_of(i, learner);
    if (schedule.has_end() && learner.schedule_steps.total == 0) values["optim/run_share"] = share;
    values["optim/learning_rate" + suffix] = rate;
    values["optim/grad_norm" + suffix] = reduced[i].gradient_norm;
    if (plan_.precision == Precision::fp16)
      values["optim/loss_scale" + suffix] = learner.parallel->loss_scale();
  }
}

void Trainer::skip_step(const std::vector<bool>& active, const Reduction& reduction, Values& values) {
  // An overflow under a loss scale is how the scale finds its size, not a fault of the numbers; but not where
  // there is no smaller scale to try.
  bool only_overflow = !reduction.votes.non_finite;
  Values scales;
  std::vector<std::string> steps_down;
  for (size_t i = 0; i < parts_.learners.size(); ++i) {
    if (!active[i]) continue;
    auto& learner = parts_.learners[i];
    const double before = learner.parallel->loss_scale();
    if (!reduction.reduced[i].finite && before <= least_loss_scale) only_overflow = false;
    learner.parallel->skip();
    if (plan_.precision != Precision::fp16) continue;
    const double after = learner.parallel->loss_scale();
    scales["optim/loss_scale" + suffix_of(i, learner)] = after;
    steps_down.push_back(text(before, " to ", after));
  }
  values.insert(scales.begin(), scales.end());
  const auto step = text("step ", state_.progress.step + 1);
  if (only_overflow) {
    parts_.tracker.event(moment(), "warning", scales,
                         text(step,
                              ": gradients are too large for float16 under the loss scale; all ranks skip "
                              "the step, and the scale goes from ",
                              join(steps_down, ", ")));
    return;
  }
  ++state_.non_finite_steps;
  const auto budget = parts_.config.train.non_finite_budget;
  const auto what = text(step, ": a loss or a gradient is not finite; all ranks skip the step (",
                         state_.non_finite_steps, " of at most ", budget, ")");
  parts_.tracker.event(moment(), "warning", scales, what);
  if (state_.non_finite_steps > budget) {
    fail(Exit::numerics, what,
         "lower optim.learning_rate, use precision fp32 or bf16, or look at the data of this step; the "
         "newest checkpoint is kept");
  }
}

}  // namespace larmor
