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
#include "larmor/judge/figure_watch.h"
#include "larmor/launch/rank_lost.h"
#include "larmor/task/networks.h"
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
      core_wait_(parts.plan, rank()),
      bad_(parts.training_cases, parts.quarantine, parts.communicator),
      agree_on_time_(parts.timetable.needs_time(parts.config.checkpoint, parts.config.track)),
      // Where its validation is still to be done, the step is saved once more, with the metric.
      saves_(parts.checkpoints, parts.clock,
             state.progress.step > 0 && !state.due_validation ? state.progress.step : -1) {
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
  for (auto& learner : parts_.learners) learner.objective.network->train();
  mark_ = parts_.clock.steady_seconds();

  std::optional<double> metric;
  is_stopped_ = agrees_to_stop();
  if (state_.due_validation && !is_stopped_)
    metric = validate_and_save(*std::exchange(state_.due_validation, std::nullopt));
  auto reason = reason_to_stop();
  for (; !reason; reason = reason_to_stop()) {
    const Progress before = state_.progress;
    const auto outcome = step();
    advance();
    parts_.tracker.event(moment(), "step", outcome.values, "");
    tell_of_step(outcome.values);
    warn_of_core_wait();
    is_stopped_ = is_stopped_ || outcome.stop;
    if (outcome.save_ended) saves_.settle();
    metric = conclude_step(before);
  }
  save(metric, /*last=*/true);
  enter(Phase::finished);
  TrainingEnd end{.reason = *reason, .words = {}, .state = state_};
  if (*reason == TrainingEnd::Reason::signal && time_is_up_) end.words = parts_.time_left.words();
  return end;
}

std::optional<double> Trainer::conclude_step(const Progress& before) {
  const auto& config = parts_.config;
  const bool at_end = parts_.timetable.finished(state_.progress);
  const auto due = [&](const Length& interval) {
    return at_end || parts_.timetable.due(interval, before, state_.progress);
  };
  const bool checkpoint_due = due(config.checkpoint.every);
  if (at_end || due(config.train.validate_every)) warn_of_data_wait();
  if (parts_.validation_cases.size() > 0 && due(config.train.validate_every))
    return validate_and_save({.pictures = due(config.track.pictures_every), .checkpoint = checkpoint_due});
  if (checkpoint_due) save(std::nullopt, /*last=*/at_end);
  return std::nullopt;
}

std::optional<double> Trainer::validate_and_save(const DueValidation& due) {
  const auto metric = validate_now(due.pictures);
  if (!metric) {
    state_.due_validation = due;
    return std::nullopt;
  }
  if (due.checkpoint || state_.best_step == state_.progress.step)
    save(metric, /*last=*/parts_.timetable.finished(state_.progress));
  is_stopped_ = agrees_to_stop() || is_stopped_;
  return metric;
}

void Trainer::warn_of_data_wait() {
  const auto words = data_wait_.verdict();
  if (!words.empty()) parts_.tracker.event(moment(), "warning", {}, words);
}

void Trainer::warn_of_core_wait() {
  const auto words = core_wait_.look(parts_.clock.steady_seconds());
  if (words.empty()) return;
  parts_.tracker.event(moment(), "warning", {}, words);
  if (!parts_.communicator.is_first()) log::warning(words);  // the first rank alone has sinks
}

std::optional<TrainingEnd::Reason> Trainer::reason_to_stop() const {
  const auto patience = parts_.config.train.early_stopping;
  if (parts_.timetable.finished(state_.progress) && !state_.due_validation)
    return TrainingEnd::Reason::length_reached;
  if (is_stopped_) return TrainingEnd::Reason::signal;
  if (parts_.step_limit && state_.progress.step >= *parts_.step_limit) return TrainingEnd::Reason::step_limit;
  if (patience > 0 && state_.validations_without_gain >= patience) return TrainingEnd::Reason::stopped_early;
  return std::nullopt;
}

std::optional<ValidationResult> Trainer::validated(bool with_pictures) {
  try {
    const auto stop_asked = stop_of_validation();
    for (auto& learner : parts_.learners) learner.parallel->share_buffers();
    const auto averaged = averaged_weights();
    const auto whole = whole_networks();  // ranks have different numbers of cases
    auto result =
        validate(parts_.task, parts_.validation_cases, parts_.communicator,
                 {.device = parts_.device,
                  .precision = plan_.precision,
                  .layout = plan_.layout,
                  .seed = static_cast<uint64_t>(parts_.config.run.seed),
                  .pictures = with_pictures,
                  .workers = plan_.loader_threads,
                  .reference = parts_.reference_cases,
                  .reference_values = &reference_values_,
                  .feed = &feed_,
                  .after_case = [this] { parts_.board.beat(rank()); },
                  .stop_asked = stop_asked,
                  .progress = [this](const WorkProgress& progress) { parts_.tracker.progress(progress); }});
    if (!result.bad.empty()) {
      bad_.add(result.bad);
      bad_.share(moment());
    }
    return result;
  } catch (...) {
    if (is_stop(std::current_exception())) return std::nullopt;
    save_before_the_end(std::current_exception());
    throw;
  }
}

StopAsked Trainer::stop_of_validation() {
  // Rank 0's clock decides; each rank counts from here.
  const auto left =
      at::full({1}, parts_.time_left.seconds_before_save(parts_.clock.steady_seconds(), seconds_to_save()),
               at::TensorOptions().dtype(at::kDouble).device(parts_.communicator.device()));
  parts_.communicator.broadcast(left, 0).wait();
  const double end = parts_.clock.steady_seconds() + left.item<double>();
  return [this, end] {
    if (parts_.clock.steady_seconds() < end) return parts_.stop_asked();
    time_is_up_ = true;
    return parts_.time_left.words();
  };
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

std::optional<double> Trainer::validate_now(bool with_pictures) {
  enter(Phase::validating);
  const double started = parts_.clock.steady_seconds();
  const auto result = validated(with_pictures);
  if (!result) {
    is_stopped_ = true;
    time_is_up_ = time_is_up_ || parts_.stop_asked().empty();
    return std::nullopt;
  }
  Values values;
  for (const auto& [name, metric] : result->metrics) {
    values["val/" + name] = metric.mean;
    for (const auto& [part, value] : metric.parts) values[text("val/", name, "@", part)] = value;
  }
  longest_validation_ = std::max(longest_validation_, parts_.clock.steady_seconds() - started);
  parts_.tracker.event(moment(), "validation", values, "");
  tell_of_figures(*result);
  for (const auto& [name, image] : result->pictures) parts_.tracker.picture(moment(), name, image);

  const auto& wanted = parts_.config.checkpoint.metric;
  const auto found = values.find(wanted);
  if (found == values.end()) {
    fail(Exit::usage, text("checkpoint.metric is ", wanted, ", which validation does not give"),
         "set checkpoint.metric to one of the val/ names in events.jsonl, such as val/loss");
  }
  rate(found->second);
  return found->second;
}

void Trainer::tell_of_figures(const ValidationResult& result) {
  const double over = parts_.timetable.part_over(state_.progress);
  for (const auto& [kind, words] : tellings_of(result, over, state_.told))
    parts_.tracker.event(moment(), kind, {}, words);
}

void Trainer::tell_of_step(const Values& values) {
  std::map<std::string, double> recorded;
  const auto letters = std::string_view(records_prefix).size();
  for (const auto& [name, value] : values) {
    if (name.starts_with(records_prefix)) recorded.emplace(name.substr(letters), value);
  }
  const auto complaint = parts_.task.complaint(recorded);
  if (complaint && state_.told.insert(complaint->key).second)
    parts_.tracker.event(moment(), "warning", {}, complaint->words);
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

double Trainer::seconds_to_save() const {
  const auto& memory = plan_.memory;
  return saves_.seconds_outstanding(memory.weights + memory.optimizer + memory.offloaded);
}

bool Trainer::is_time_up() {
  if (!parts_.communicator.is_first() || time_is_up_) return time_is_up_;
  time_is_up_ = parts_.time_left.must_stop(parts_.clock.steady_seconds(), longest_step_, seconds_to_save(),
                                           validation_to_come());
  return time_is_up_;
}

bool Trainer::agrees_to_stop() {
  const bool own = is_time_up() || !parts_.stop_asked().empty();
  auto asked = at::full({1}, own ? 1.0 : 0.0, at::TensorOptions(parts_.communicator.device()));
  parts_.communicator.all_reduce(asked, Reduce::sum).wait();
  return asked.item<double>() > 0;
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
