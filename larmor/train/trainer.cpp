#include "larmor/train/trainer.h"

#include <cmath>
#include <utility>

#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/device/autocast.h"
#include "larmor/device/device.h"
#include "larmor/device/draw.h"
#include "larmor/device/rank_sum.h"
#include "larmor/device/run_block.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/train/batch_device.h"
#include "larmor/train/snapshot.h"
#include "larmor/train/whole_batch.h"

namespace larmor {

Trainer::Trainer(const TrainerParts& parts, const TrainerState& state)
    : parts_(parts),
      state_(state),
      data_wait_(
          {.workers = parts.plan.loader_threads,
           .free_cores = static_cast<int>(parts.plan.ranks.at(static_cast<size_t>(rank())).cores.size()) -
                         (parts.plan.device == DeviceKind::cpu ? parts.plan.threads_per_rank : 1),
           .is_prepared = parts.config.data.cache != "none"}),
      agree_on_time_(parts.timetable.needs_time(parts.config.checkpoint, parts.config.track)),
      saved_step_(state.progress.step > 0 ? state.progress.step : -1) {}

void Trainer::prepare() {
  const auto whole = whole_networks();
  parts_.task.prepare(context(nullptr));
}

std::vector<std::unique_ptr<WholeNetwork>> Trainer::whole_networks() {
  std::vector<std::unique_ptr<WholeNetwork>> whole;
  for (auto& learner : parts_.learners) whole.push_back(std::make_unique<WholeNetwork>(*learner.parallel));
  return whole;
}

TrainingEnd Trainer::run() {
  const auto& config = parts_.config;
  for (auto& learner : parts_.learners) learner.objective.network->train();
  mark_ = parts_.clock.steady_seconds();

  const bool validates = parts_.validation_cases.size() > 0;
  TrainingEnd end;
  std::optional<double> metric;
  while (!parts_.timetable.finished(state_.progress)) {
    const Progress before = state_.progress;
    const auto outcome = step();
    advance();
    parts_.tracker.event(moment(), "step", outcome.values, "");
    announce_saves();

    const bool at_end = parts_.timetable.finished(state_.progress);
    const auto due = [&](const Length& interval) {
      return at_end || parts_.timetable.due(interval, before, state_.progress);
    };
    if (at_end || due(config.train.validate_every)) warn_of_data_wait();
    metric.reset();
    if (validates && due(config.train.validate_every))
      metric = validate_now(due(config.track.pictures_every));
    const bool is_best = metric && state_.best_step == state_.progress.step;
    if (is_best || due(config.checkpoint.every)) save(metric, /*last=*/at_end);
    if (const auto reason = reason_to_stop(outcome); reason && !at_end) {
      end.reason = *reason;
      break;
    }
  }
  save(metric, /*last=*/true);
  announce_saves();
  parts_.board.set(rank(), Phase::finished, state_.progress.step);
  end.state = state_;
  return end;
}

void Trainer::warn_of_data_wait() {
  const auto words = data_wait_.verdict();
  if (!words.empty()) parts_.tracker.event(moment(), "warning", {}, words);
}

std::optional<TrainingEnd::Reason> Trainer::reason_to_stop(const StepOutcome& outcome) const {
  const auto patience = parts_.config.train.early_stopping;
  if (outcome.stop) return TrainingEnd::Reason::signal;
  if (parts_.step_limit && state_.progress.step >= *parts_.step_limit) return TrainingEnd::Reason::step_limit;
  if (patience > 0 && state_.validations_without_gain >= patience) return TrainingEnd::Reason::stopped_early;
  return std::nullopt;
}

Trainer::StepOutcome Trainer::step() {
  const double started = parts_.clock.steady_seconds();
  const auto now = context(nullptr);
  std::vector<bool> active;
  for (const auto& learner : parts_.learners) active.push_back(parts_.task.is_active(learner.objective, now));

  Records records;
  Votes votes{.stop = stop_requested()};
  accumulate(active, records, votes);  // data, model, losses, backward / reduce
  parts_.board.set(rank(), Phase::communicating, state_.progress.step);
  std::vector<Reduced> reduced(parts_.learners.size());
  bool finite = true;
  for (size_t i = 0; i < parts_.learners.size(); ++i) {
    if (!active[i]) continue;
    reduced[i] = parts_.learners[i].parallel->finish();
    finite = finite && reduced[i].finite;
    votes.non_finite = votes.non_finite || reduced[i].votes.non_finite;
    votes.stop = votes.stop || reduced[i].votes.stop;
    votes.failed = votes.failed || reduced[i].votes.failed;
    votes.bad_file = votes.bad_file || reduced[i].votes.bad_file;
  }
  settle_files(votes);
  settle_failure(votes);

  StepOutcome outcome{.stop = votes.stop,
                      .values = records.mean(parts_.plan.accumulation, "train/", parts_.communicator)};
  if (finite && !votes.non_finite) {
    move_weights(active, reduced, outcome.values);  // optimizer
  } else {
    skip_step(active, votes);
  }
  synchronize(parts_.device);
  const double seconds = parts_.clock.steady_seconds() - started;
  outcome.values["perf/step_ms"] = seconds * 1e3;
  outcome.values["perf/samples_per_second"] = static_cast<double>(parts_.plan.global_batch) / seconds;
  const double waited = parts_.loader.take_wait_seconds();
  outcome.values["perf/data_wait"] = waited / seconds;
  data_wait_.add_step(seconds, waited, parts_.loader.take_stage_seconds());
  outcome.values["mem/peak_gib"] = static_cast<double>(peak_memory_bytes(parts_.device)) / (1 << 30);
  return outcome;
}

void Trainer::accumulate(const std::vector<bool>& active, Records& records, Votes& votes) {
  const RankSumScope all_ranks(parts_.rank_sums);
  try {
    if (auto* const whole = parts_.task.whole_batch_loss()) {
      accumulate_whole(*whole, records, votes);
      return;
    }
    for (int64_t micro = 0; micro < parts_.plan.accumulation; ++micro)
      forward_backward(next_batch(votes), micro + 1 == parts_.plan.accumulation, active, records, votes);
  } catch (...) {
    // The others are on their way into this step's collectives: take part with zeros and a flag, so that
    // all ranks come out of the step together. Where that cannot be, this rank's end tells them.
    failure_ = std::current_exception();
    bool together = leave_sums();
    for (size_t i = 0; i < parts_.learners.size(); ++i) {
      if (active[i]) together = parts_.learners[i].parallel->fail_step() && together;
    }
    if (!together) throw;
  }
}

bool Trainer::leave_sums() { return parts_.rank_sums == nullptr || parts_.rank_sums->leave(); }

Batch Trainer::next_batch(Votes& votes) {
  parts_.board.set(rank(), Phase::waiting_for_data, state_.progress.step);
  auto batch = to_device(parts_.loader.next(), parts_.device, parts_.plan.precision);
  votes.bad_file = parts_.quarantine.lacks_some(bad_files());
  parts_.board.set(rank(), Phase::computing, state_.progress.step);
  return batch;
}

void Trainer::accumulate_whole(WholeBatchLoss& loss, Records& records, Votes& votes) {
  auto& learner = parts_.learners.front();
  WholeBatch whole(loss, *learner.objective.network,
                   {.accumulation = parts_.plan.accumulation,
                    .device = parts_.device,
                    .precision = parts_.plan.precision,
                    .recompute = parts_.plan.recompute});
  std::exception_ptr failure;
  try {
    for (int64_t micro = 0; micro < parts_.plan.accumulation; ++micro)
      whole.forward(next_batch(votes), context(nullptr));
  } catch (...) {
    failure = std::current_exception();
    if (!leave_sums()) throw;
  }
  // A rank that has failed takes part all the same: the others wait for its rows.
  auto now = context(&records);
  const double micro_batches = static_cast<double>(parts_.plan.accumulation);
  now.record = [&records, micro_batches](const std::string& name, const at::Tensor& value) {
    records.add(name, value * micro_batches);  // records are means over micro-batches
  };
  const bool met = whole.meet(failure == nullptr, now, parts_.communicator);
  if (failure) std::rethrow_exception(failure);
  if (!met) {
    learner.parallel->fail_step();
    return;
  }
  votes.non_finite = votes.non_finite || !std::isfinite(whole.loss());
  for (int64_t micro = 0; micro < parts_.plan.accumulation; ++micro)
    learner.parallel->backward(whole.share_of(micro, context(nullptr)), micro + 1 == parts_.plan.accumulation,
                               votes);
}

void Trainer::forward_backward(const Batch& batch, bool last, const std::vector<bool>& active,
                               Records& records, Votes& votes) {
  const DrawScope draws(draw_position_of(batch));
  std::vector<at::Tensor> losses;
  {
    const AutocastScope autocast(parts_.device.type(), parts_.plan.precision);
    const RecomputeScope recompute(parts_.plan.recompute);
    losses = parts_.task.losses(batch, context(&records));
  }
  for (const auto& loss : losses) {
    if (loss.defined() && !std::isfinite(loss.item<double>())) votes.non_finite = true;
  }
  for (size_t i = 0; i < parts_.learners.size(); ++i) {
    if (!active[i]) continue;
    const auto share = losses[i] / static_cast<double>(parts_.plan.accumulation);
    parts_.learners[i].parallel->backward(share, last, votes);
  }
}

void Trainer::move_weights(const std::vector<bool>& active, const std::vector<Reduced>& reduced,
                           Values& values) {
  for (size_t i = 0; i < parts_.learners.size(); ++i) {
    if (!active[i]) continue;
    auto& learner = parts_.learners[i];
    const double rate = learning_rate(learner.optim.schedule, learner.optim.learning_rate,
                                      learner.schedule_steps, state_.progress.step);
    learner.parallel->step(rate);
    // The first objective's values carry the plain names, the others' their own.
    const auto suffix = i == 0 ? std::string() : "_" + learner.objective.name;
    values["optim/learning_rate" + suffix] = rate;
    values["optim/grad_norm" + suffix] = reduced[i].gradient_norm;
    if (parts_.plan.precision == Precision::fp16)
      values["optim/loss_scale" + suffix] = learner.parallel->loss_scale();
  }
}

void Trainer::skip_step(const std::vector<bool>& active, const Votes& votes) {
  for (size_t i = 0; i < parts_.learners.size(); ++i) {
    if (active[i]) parts_.learners[i].parallel->skip();
  }
  // An overflow under a loss scale is how the scale finds its size, not a fault of the numbers.
  const bool only_overflow = !votes.non_finite && parts_.plan.precision == Precision::fp16;
  if (only_overflow) return;
  ++state_.non_finite_steps;
  const auto budget = parts_.config.train.non_finite_budget;
  const auto what = text("step ", state_.progress.step + 1,
                         ": a loss or a gradient is not finite; all ranks skip the step (",
                         state_.non_finite_steps, " of at most ", budget, ")");
  parts_.tracker.event(moment(), "warning", {}, what);
  if (state_.non_finite_steps > budget) {
    fail(Exit::numerics, what,
         "lower optim.learning_rate, use precision fp32 or bf16, or look at the data of this step; the "
         "newest checkpoint is kept");
  }
}

void Trainer::settle_files(const Votes& votes) {
  // A step may have failed for its files; a failed rank's vote says no more than that.
  if (!votes.bad_file && !votes.failed) return;
  try {
    parts_.quarantine.share(bad_files(), moment());
  } catch (...) {
    if (!failure_) throw;
  }
}

void Trainer::settle_failure(const Votes& votes) {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (votes.failed) {
    fail(Exit::rank_lost, text("step ", state_.progress.step + 1, " failed on another rank"),
         "see that rank's log in the run folder");
  }
}

std::vector<BadFile> Trainer::bad_files() const {
  auto files = parts_.loader.quarantine();
  files.insert(files.end(), bad_cases_.begin(), bad_cases_.end());
  return files;
}

double Trainer::validate_now(bool with_pictures) {
  parts_.board.set(rank(), Phase::validating, state_.progress.step);
  for (auto& learner : parts_.learners) learner.parallel->share_buffers();
  const auto whole = whole_networks();  // ranks have different numbers of cases
  const auto result = validate(parts_.task, parts_.validation_cases, parts_.communicator,
                               {.device = parts_.device,
                                .precision = parts_.plan.precision,
                                .seed = static_cast<uint64_t>(parts_.config.run.seed),
                                .pictures = with_pictures,
                                .reference = parts_.reference_cases});
  if (!result.bad.empty()) {
    bad_cases_ = result.bad;
    parts_.quarantine.share(bad_files(), moment());
  }
  Values values;
  for (const auto& [name, metric] : result.metrics) {
    values["val/" + name] = metric.mean;
    for (const auto& [part, value] : metric.parts) values[text("val/", name, "@", part)] = value;
  }
  parts_.tracker.event(moment(), "validation", values, "");
  for (const auto& [name, image] : result.pictures) parts_.tracker.picture(moment(), name, image);

  const auto& wanted = parts_.config.checkpoint.metric;
  const auto found = values.find(wanted);
  if (found == values.end()) {
    fail(Exit::usage, text("checkpoint.metric is ", wanted, ", which validation does not give"),
         "set checkpoint.metric to one of the val/ names in events.jsonl, such as val/loss");
  }
  const double metric = found->second;
  const bool lower = parts_.config.checkpoint.mode == "min";
  const bool gained =
      std::isfinite(metric) &&
      (!state_.best_metric || (lower ? metric < *state_.best_metric : metric > *state_.best_metric));
  if (gained) {
    state_.best_metric = metric;
    state_.best_step = state_.progress.step;
  }
  state_.validations_without_gain = gained ? 0 : state_.validations_without_gain + 1;
  return metric;
}

void Trainer::save(std::optional<double> metric, bool last) {
  if (saved_step_ == state_.progress.step) {
    if (last) parts_.checkpoints.finish();
    return;
  }
  parts_.board.set(rank(), Phase::saving, state_.progress.step);
  auto snapshot = take_snapshot(parts_.task, parts_.learners, state_, rank());
  snapshot.epoch = parts_.timetable.epoch(state_.progress);
  snapshot.metric = metric;
  parts_.checkpoints.save(snapshot, last);
  saved_step_ = state_.progress.step;
}

void Trainer::announce_saves() {
  for (const auto& outcome : parts_.checkpoints.take_outcomes()) {
    auto when = moment();
    when.step = outcome.step;
    if (outcome.committed) {
      parts_.tracker.event(
          when, "checkpoint",
          {{"perf/save_seconds", outcome.seconds}, {"perf/save_stall_seconds", outcome.staged_seconds}},
          outcome.is_best ? "best so far" : "");
    } else {
      parts_.tracker.event(
          when, "warning", {},
          text("the checkpoint was not saved: ", outcome.warning, "; tried again at the next interval"));
    }
  }
}

void Trainer::advance() {
  auto& progress = state_.progress;
  ++progress.step;
  progress.examples += parts_.plan.global_batch;
  const double now = parts_.clock.steady_seconds();
  progress.elapsed_seconds += now - mark_;
  mark_ = now;
  if (!agree_on_time_) return;
  // Clocks differ: rank 0's decides what is due on every rank.
  const auto seconds =
      at::full({1}, progress.elapsed_seconds, at::TensorOptions().dtype(at::kDouble).device(parts_.device));
  parts_.communicator.broadcast(seconds, 0).wait();
  progress.elapsed_seconds = seconds.item<double>();
}

StepContext Trainer::context(Records* records) const {
  StepContext context;
  context.step = state_.progress.step;
  context.epoch = parts_.timetable.whole_epochs(state_.progress);
  context.training = true;
  context.record = [records](const std::string& name, const at::Tensor& value) {
    if (records != nullptr) records->add(name, value);
  };
  context.mean_over_ranks = [this](const at::Tensor& value) {
    auto mean = value.detach().clone();
    parts_.communicator.all_reduce(mean, Reduce::mean).wait();
    return mean;
  };
  return context;
}

Moment Trainer::moment() const {
  return {.step = state_.progress.step,
          .epoch = parts_.timetable.epoch(state_.progress),
          .examples = state_.progress.examples};
}

}  // namespace larmor
