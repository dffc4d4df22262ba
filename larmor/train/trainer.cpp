#include "larmor/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/device/device.h"
#include "larmor/launch/rank_lost.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/train/networks.h"
#include "larmor/train/pass_graphs.h"
#include "larmor/train/snapshot.h"
#include "larmor/train/whole_batch.h"

namespace larmor {

namespace {

/// Memory may have run out in an earlier part of the run.
Plan plan_to_go_on_with(Plan plan, const TrainerState& state) {
  while (state.micro_batch > 0 && plan.micro_batch > state.micro_batch) {
    auto smaller = with_smaller_micro_batch(plan);
    if (!smaller) break;
    plan = std::move(*smaller);
  }
  return plan;
}

}  // namespace

Trainer::Trainer(const TrainerParts& parts, const TrainerState& state)
    : parts_(parts),
      plan_(plan_to_go_on_with(parts.plan, state)),
      state_(state),
      loader_(parts.open_loader(plan_, state.progress.examples, {})),
      feed_(parts.device, plan_.precision),
      data_wait_(
          {.workers = parts.plan.loader_threads,
           .free_cores = static_cast<int>(parts.plan.ranks.at(static_cast<size_t>(rank())).cores.size()) -
                         (parts.plan.device == DeviceKind::cpu ? parts.plan.threads_per_rank : 1),
           .is_prepared = parts.config.data.cache != "none"}),
      agree_on_time_(parts.timetable.needs_time(parts.config.checkpoint, parts.config.track)),
      saves_(parts.checkpoints, parts.clock, state.progress.step > 0 ? state.progress.step : -1) {
  for (auto& learner : parts_.learners) learner.parallel->set_accumulation(plan_.accumulation);
  const bool asks_first = parts_.task.whole_batch_loss() != nullptr || parts_.task.counted() > 0;
  if (asks_first && !parts_.device.is_cpu()) on_host_ = parts_.communicator.duplicate_on_host();
  if (!plan_.graphs) return;
  graphs_ = std::make_unique<PassGraphs>(
      parts_.task, parts_.learners, PassOptions::of(plan_, parts_.device), share_of_losses(),
      [this](const std::string& words) { parts_.tracker.event(moment(), "warning", {}, words); });
}

Trainer::~Trainer() = default;

LossShare Trainer::share_of_losses() const {
  return {.accumulation = plan_.accumulation, .ranks = parts_.communicator.size()};
}

std::vector<std::unique_ptr<WholeNetwork>> Trainer::whole_networks() {
  std::vector<std::unique_ptr<WholeNetwork>> whole;
  for (auto& learner : parts_.learners) whole.push_back(std::make_unique<WholeNetwork>(*learner.parallel));
  return whole;
}

std::vector<std::unique_ptr<AveragedWeights>> Trainer::averaged_weights() {
  std::vector<std::unique_ptr<AveragedWeights>> averaged;
  if (parts_.config.train.validate_with != "average") return averaged;
  for (auto& learner : parts_.learners)
    averaged.push_back(std::make_unique<AveragedWeights>(*learner.parallel));
  return averaged;
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
    if (outcome.save_ended) saves_.settle();

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
      if (time_is_up_) end.words = parts_.time_left.words();
      break;
    }
  }
  save(metric, /*last=*/true);
  enter(Phase::finished);
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

ValidationResult Trainer::validated(bool with_pictures) {
  try {
    for (auto& learner : parts_.learners) learner.parallel->share_buffers();
    const auto averaged = averaged_weights();
    const auto whole = whole_networks();  // ranks have different numbers of cases
    auto result = validate(parts_.task, parts_.validation_cases, parts_.communicator,
                           {.device = parts_.device,
                            .precision = plan_.precision,
                            .layout = plan_.layout,
                            .seed = static_cast<uint64_t>(parts_.config.run.seed),
                            .pictures = with_pictures,
                            .workers = plan_.loader_threads,
                            .reference = parts_.reference_cases,
                            .feed = &feed_,
                            .after_case = [this] { parts_.board.beat(rank()); }});
    if (!result.bad.empty()) {
      bad_cases_ = result.bad;
      parts_.quarantine.share(bad_files(), moment());
    }
    return result;
  } catch (...) {
    save_before_the_end(std::current_exception());
    throw;
  }
}

// Validations fail on all ranks alike, so that they can save together; a rank that has lost the others
// cannot, nor one whose device has failed, and where the disk is at fault there is nothing to save to.
void Trainer::save_before_the_end(const std::exception_ptr& failure) {
  if (is_rank_lost(failure)) return;
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    if (error.exit() == Exit::environment || error.exit() == Exit::rank_lost) return;
  } catch (const c10::AcceleratorError&) {  // whatever is asked of the device from now on fails, too
    return;
  } catch (...) {  // of libtorch, say
  }
  try {
    save(std::nullopt, /*last=*/true);
  } catch (const std::exception& error) {
    log::warning(text("step ", state_.progress.step, " is not saved: ", error.what()));
  }
}

double Trainer::validate_now(bool with_pictures) {
  enter(Phase::validating);
  const double started = parts_.clock.steady_seconds();
  const auto result = validated(with_pictures);
  Values values;
  for (const auto& [name, metric] : result.metrics) {
    values["val/" + name] = metric.mean;
    for (const auto& [part, value] : metric.parts) values[text("val/", name, "@", part)] = value;
  }
  longest_validation_ = std::max(longest_validation_, parts_.clock.steady_seconds() - started);
  parts_.tracker.event(moment(), "validation", values, "");
  for (const auto& [name, image] : result.pictures) parts_.tracker.picture(moment(), name, image);

  const auto& wanted = parts_.config.checkpoint.metric;
  const auto found = values.find(wanted);
  if (found == values.end()) {
    fail(Exit::usage, text("checkpoint.metric is ", wanted, ", which validation does not give"),
         "set checkpoint.metric to one of the val/ names in events.jsonl, such as val/loss");
  }
  rate(found->second);
  return found->second;
}

void Trainer::rate(double metric) {
  const bool lower = parts_.config.checkpoint.mode == "min";
  const bool gained =
      std::isfinite(metric) &&
      (!state_.best_metric || (lower ? metric < *state_.best_metric : metric > *state_.best_metric));
  if (gained) {
    state_.best_metric = metric;
    state_.best_step = state_.progress.step;
  }
  state_.validations_without_gain = gained ? 0 : state_.validations_without_gain + 1;
  for (const auto& learner : parts_.learners) {
    if (learner.optim.schedule.name != "plateau") continue;
    note_validation(learner.optim.schedule, gained, state_.plateaus[learner.objective.name]);
  }
}

Plateau Trainer::plateau_of(const Learner& learner) const {
  const auto known = state_.plateaus.find(learner.objective.name);
  return known == state_.plateaus.end() ? Plateau() : known->second;
}

void Trainer::save(std::optional<double> metric, bool last) {
  saves_.save(state_.progress.step, last, [&] {
    enter(Phase::saving);
    auto snapshot = take_snapshot(parts_.task, parts_.learners, state_, rank());
    snapshot.epoch = parts_.timetable.epoch(state_.progress);
    snapshot.metric = metric;
    return snapshot;
  });
}

bool Trainer::is_time_up() {
  if (!parts_.communicator.is_first() || time_is_up_) return time_is_up_;
  const auto& memory = plan_.memory;
  const double saves = saves_.seconds_outstanding(memory.weights + memory.optimizer + memory.offloaded);
  time_is_up_ =
      parts_.time_left.must_stop(parts_.clock.steady_seconds(), longest_step_, saves, validation_to_come());
  return time_is_up_;
}

double Trainer::validation_to_come() const {
  const auto cases = parts_.validation_cases.size();
  if (cases == 0) return 0;
  const Progress now = state_.progress;
  const Progress later{.step = now.step + 2,
                       .examples = now.examples + 2 * plan_.global_batch,
                       .elapsed_seconds = now.elapsed_seconds + 2 * longest_step_};
  if (!parts_.timetable.due(parts_.config.train.validate_every, now, later) &&
      !parts_.timetable.finished(later))
    return 0;
  if (longest_validation_ > 0) return longest_validation_;
  // Nothing is known of it yet but that a case hardly takes longer than a step.
  const double rounds = std::ceil(static_cast<double>(cases) / parts_.communicator.size());
  return rounds * longest_step_;
}

void Trainer::enter(Phase phase) {
  const int64_t step = state_.progress.step;
  parts_.board.set(rank(), phase, step);
  // Sinks write on threads of their own: none is to be caught within a write.
  if (parts_.faults.stops_at(phase, step)) parts_.tracker.flush();
  parts_.faults.reach(phase, step);
}

void Trainer::advance() {
  auto& progress = state_.progress;
  ++progress.step;
  progress.examples += plan_.global_batch;
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
  context.record_ratio = [records](const std::string& name, const at::Tensor& sum, const at::Tensor& count) {
    if (records != nullptr) records->add_ratio(name, sum, count);
  };
  const auto over_ranks = [this](Reduce operation) {
    return [this, operation](const at::Tensor& value) {
      // On the ranks' device, wherever the value is: those on GPUs reduce nothing else.
      const auto reduced = value.detach().to(parts_.communicator.device(), value.scalar_type(),
                                             /*non_blocking=*/false, /*copy=*/true);
      parts_.communicator.all_reduce(reduced, operation).wait();
      return reduced.to(value.device());
    };
  };
  context.mean_over_ranks = over_ranks(Reduce::mean);
  context.sum_over_ranks = over_ranks(Reduce::sum);
  return context;
}

Moment Trainer::moment() const { return parts_.timetable.moment(state_.progress); }

}  // namespace larmor
