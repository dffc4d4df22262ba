#include "larmor/train/step/step.h"

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "larmor/base/text.h"
#include "larmor/device/device.h"
#include "larmor/device/send.h"
#include "larmor/optim/loss_scale.h"
#include "larmor/task/networks.h"
#include "larmor/train/step/kept_buffers.h"
#include "larmor/train/step/pass_graphs.h"
#include "larmor/train/step/step_counts.h"
#include "larmor/train/step/whole_batch.h"

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

Plateau plateau_of(const TrainerState& state, const Learner& learner) {
  const auto known = state.plateaus.find(learner.objective.name);
  return known == state.plateaus.end() ? Plateau() : known->second;
}

}  // namespace

Step::Step(Loop& loop, MicroBatches& batches, Recovery& recovery, const Saves& saves, Stops& stops)
    : loop_(loop), batches_(batches), recovery_(recovery), saves_(saves), stops_(stops) {
  auto& parts = loop.parts;
  const bool asks_first = parts.task.whole_batch_loss() != nullptr || parts.task.counted() > 0;
  if (asks_first && !parts.device.is_cpu()) on_host_ = parts.communicator.duplicate_on_host();
  if (!loop.plan.graphs) return;
  graphs_ = std::make_unique<PassGraphs>(parts.task, parts.learners, PassOptions::of(loop.plan, parts.device),
                                         share_of_losses(),
                                         [&loop](const std::string& words) { loop.warn(words); });
}

Step::~Step() = default;

LossShare Step::share_of_losses() const {
  return {.accumulation = loop_.plan.accumulation, .ranks = loop_.parts.communicator.size()};
}

// The host's clock tells a device's time as well, without an event: reduce() waits for the device once a
// step, so that a step ends where gradients have been reduced. What the optimizer launches behind that counts
// for the next step.
StepOutcome Step::run() {
  const auto& clock = loop_.parts.clock;
  const double started = clock.steady_seconds();
  std::optional<StepOutcome> outcome;
  while (!outcome) outcome = attempt();
  const double seconds = clock.steady_seconds() - started;
  stops_.note_step(seconds);
  auto& values = outcome->values;
  values["perf/step_ms"] = seconds * 1e3;
  values["perf/samples_per_second"] = static_cast<double>(loop_.plan.global_batch) / seconds;
  values["perf/data_wait"] = batches_.note_step(seconds) / seconds;
  values["mem/peak_gib"] = static_cast<double>(peak_memory_bytes(loop_.parts.device)) / (1 << 30);
  return *outcome;
}

std::optional<StepOutcome> Step::attempt() {
  auto& task = loop_.parts.task;
  std::vector<const torch::nn::Module*> networks;
  active_.clear();
  for (const auto& learner : loop_.parts.learners) {
    active_.push_back(task.is_active(learner.objective, loop_.context()));
    networks.push_back(learner.objective.network);
  }
  const KeptBuffers buffers(networks);  // for a step that may have to be done again

  Records records;
  Votes votes{.stop = stops_.is_asked()};
  try {
    const RankSumScope all_ranks(loop_.parts.rank_sums);
    auto* const whole = task.whole_batch_loss();
    whole != nullptr ? pass_whole(*whole, records, votes) : pass_each(records, votes);
  } catch (...) {
    votes = recovery_.fail_step(active_);
  }
  loop_.enter(Phase::communicating);
  auto outcome = reduce(votes, records);
  if (const auto retry = recovery_.retry_of(outcome.votes); retry != Retry::none) {
    for (auto& learner : loop_.parts.learners) learner.parallel->forget();
    buffers.restore();
    recovery_.prepare(retry, graphs_.get());
    return std::nullopt;
  }
  if (outcome.votes.new_names) {
    records.share_names(record_names_, loop_.parts.communicator);
    outcome.values =
        records.mean(loop_.plan.accumulation, records_prefix, record_names_, loop_.parts.communicator);
  }
  outcome.finite && !outcome.votes.non_finite ? move_weights(outcome) : skip(outcome);
  return outcome;
}

void Step::pass_each(Records& records, Votes& votes) {
  const auto& parts = loop_.parts;
  auto now = loop_.context(&records);
  if (parts.task.counted() > 0) {
    const auto counts = count_ahead();
    if (!counts) return follow_failure();
    now.counts = send(counts->to(weight_type(loop_.plan.precision)), parts.device);
  }
  for (int64_t left = loop_.plan.accumulation; left > 0; --left) {
    const Batch batch = batches_.send(batches_.read());
    const ComputedPass* computed = nullptr;
    std::vector<at::Tensor> losses;
    loop_.try_forward(batch, [&](const Batch& part) {
      computed = graphs_ ? graphs_->compute(part, now, active_) : nullptr;
      losses = computed != nullptr
                   ? computed->losses
                   : losses_of(parts.task, part, now, PassOptions::of(loop_.plan, parts.device));
    });
    for (const auto& loss : losses) {
      if (loss.defined()) note_whether_finite(loss, votes);
    }
    note(votes, records);
    for (size_t i = 0; i < parts.learners.size(); ++i) {
      if (!active_[i]) continue;
      auto& parallel = *parts.learners[i].parallel;
      if (computed != nullptr) {
        parallel.receive(computed->gradients[i], left == 1, votes);
      } else {
        parallel.backward(share_of_losses().of(losses[i], now), left == 1, votes);
      }
    }
    batches_.copy_ahead();  // where no worker had it ready before
  }
}

std::optional<at::Tensor> Step::count_ahead() {
  std::exception_ptr failure;
  at::Tensor counts = at::zeros({loop_.parts.task.counted()}, at::kDouble);
  try {
    for (int64_t micro = 0; micro < loop_.plan.accumulation; ++micro) {
      at::Tensor of_batch;
      loop_.try_forward(batches_.keep_next(),
                        [&](const Batch& part) { of_batch = loop_.parts.task.counts(part); });
      counts += of_batch.to(at::kDouble);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  // A rank that has failed takes part all the same: the others wait for its counts.
  auto of_step = sum_counts(counts, failure == nullptr, on_host());
  if (failure) std::rethrow_exception(failure);
  return of_step;
}

void Step::pass_whole(WholeBatchLoss& loss, Records& records, Votes& votes) {
  const auto& parts = loop_.parts;
  auto& learner = parts.learners.front();
  const int64_t accumulation = loop_.plan.accumulation;
  WholeBatch whole(loss, *learner.objective.network,
                   {.accumulation = accumulation,
                    .pass = PassOptions::of(loop_.plan, parts.device),
                    .take = [this](Batch host) { return batches_.send(std::move(host)); }});
  std::exception_ptr failure;
  try {
    for (int64_t micro = 0; micro < accumulation; ++micro)
      loop_.try_forward(batches_.read(), [&](const Batch& part) { whole.forward(part, loop_.context()); });
  } catch (...) {
    failure = std::current_exception();
    if (!recovery_.leave_sums()) throw;
  }
  // A rank that has failed takes part all the same: the others wait for its rows.
  auto now = loop_.context(&records);
  now.record = [&records, accumulation](const std::string& name, const at::Tensor& value) {
    records.add(name, value * static_cast<double>(accumulation));  // records are means over micro-batches
  };
  const bool is_gathered = whole.gather(failure == nullptr, now, parts.communicator, on_host());
  if (failure) std::rethrow_exception(failure);
  if (!is_gathered) return follow_failure();
  note_whether_finite(whole.loss(), votes);
  note(votes, records);
  for (int64_t micro = 0; micro < accumulation; ++micro)
    learner.parallel->backward(whole.share_of(micro, loop_.context()), micro + 1 == accumulation, votes);
  batches_.copy_ahead();  // where no worker had it ready before
}

void Step::note(Votes& votes, const Records& records) const {
  votes.bad_file = loop_.bad.has_new();
  votes.save_ended = saves_.has_ended();
  votes.new_names = records.has_new(record_names_);
}

void Step::follow_failure() {
  for (size_t i = 0; i < active_.size(); ++i) {
    if (active_[i]) loop_.parts.learners[i].parallel->fail_step({});  // the rank that failed says why
  }
}

StepOutcome Step::reduce(const Votes& own, const Records& records) {
  std::vector<at::Tensor> reduced;
  for (size_t i = 0; i < loop_.parts.learners.size(); ++i) {
    if (active_[i]) reduced.push_back(loop_.parts.learners[i].parallel->reduce());
  }
  reduced.push_back(records.reduce(loop_.plan.accumulation, record_names_, loop_.parts.communicator));
  // The host waits for the device here alone. What a loss needs of other ranks before travels between hosts,
  // or between devices.
  const std::vector<at::Tensor> on_host = to_host(reduced);

  StepOutcome outcome{.votes = own, .reduced = std::vector<Reduced>(loop_.parts.learners.size())};
  auto next = on_host.begin();
  for (size_t i = 0; i < loop_.parts.learners.size(); ++i) {
    if (!active_[i]) continue;
    outcome.reduced[i] = loop_.parts.learners[i].parallel->read_reduced(*next++);
    outcome.finite = outcome.finite && outcome.reduced[i].finite;
    outcome.votes.add(outcome.reduced[i].votes);
  }
  outcome.values = Records::values_of(*next, records_prefix, record_names_);
  return outcome;
}

void Step::move_weights(StepOutcome& outcome) {
  auto& values = outcome.values;
  for (size_t i = 0; i < loop_.parts.learners.size(); ++i) {
    if (!active_[i]) continue;
    auto& learner = loop_.parts.learners[i];
    const auto& schedule = learner.optim.schedule;
    const double share = loop_.parts.timetable.share(loop_.state.progress);
    const double rate = learning_rate(schedule, learner.optim.learning_rate, learner.schedule_steps,
                                      loop_.state.progress.step, plateau_of(loop_.state, learner), share);
    learner.parallel->step(rate);
    const auto suffix = suffix_of(i, learner);
    if (schedule.has_end() && learner.schedule_steps.total == 0) values["optim/run_share"] = share;
    values["optim/learning_rate" + suffix] = rate;
    values["optim/grad_norm" + suffix] = outcome.reduced[i].gradient_norm;
    if (loop_.plan.precision == Precision::fp16)
      values["optim/loss_scale" + suffix] = learner.parallel->loss_scale();
  }
}

void Step::skip(StepOutcome& outcome) {
  // An overflow under a loss scale is how the scale finds its size, not a fault of the numbers; but not where
  // there is no smaller scale to try.
  bool only_overflow = !outcome.votes.non_finite;
  Values scales;
  std::vector<std::string> steps_down;
  for (size_t i = 0; i < loop_.parts.learners.size(); ++i) {
    if (!active_[i]) continue;
    auto& learner = loop_.parts.learners[i];
    const double before = learner.parallel->loss_scale();
    if (!outcome.reduced[i].finite && before <= least_loss_scale) only_overflow = false;
    learner.parallel->skip();
    if (loop_.plan.precision != Precision::fp16) continue;
    const double after = learner.parallel->loss_scale();
    scales["optim/loss_scale" + suffix_of(i, learner)] = after;
    steps_down.push_back(text(before, " to ", after));
  }
  outcome.values.insert(scales.begin(), scales.end());
  const auto step = text("step ", loop_.state.progress.step + 1);
  if (only_overflow) {
    loop_.warn(text(step,
                    ": gradients are too large for float16 under the loss scale; all ranks skip the step, "
                    "and the scale goes from ",
                    join(steps_down, ", ")),
               scales);
    return;
  }
  ++loop_.state.non_finite_steps;
  const auto budget = loop_.parts.config.train.non_finite_budget;
  const auto what = text(step, ": a loss or a gradient is not finite; all ranks skip the step (",
                         loop_.state.non_finite_steps, " of at most ", budget, ")");
  loop_.warn(what, scales);
  if (loop_.state.non_finite_steps > budget) {
    fail(Exit::numerics, what,
         "lower optim.learning_rate, use precision fp32 or bf16, or look at the data of this step; the "
         "newest checkpoint is kept");
  }
}

}  // namespace larmor
