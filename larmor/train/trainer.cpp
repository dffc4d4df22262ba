#include "larmor/train/trainer.h"

#include <torch/nn/module.h>

#include "larmor/base/log.h"
#include "larmor/train/preparation.h"
#include "larmor/train/snapshot.h"

namespace larmor {

namespace {

/// What the loop has come to, but for the metric.
Snapshot snapshot_of(Loop& loop) {
  loop.enter(Phase::saving);
  auto snapshot = take_snapshot(loop.parts.task, loop.parts.learners, loop.state, loop.rank());
  snapshot.epoch = loop.parts.timetable.epoch(loop.state.progress);
  return snapshot;
}

/// Where its validation is still to be done, the step is saved once more, with the metric.
int64_t saved_step(const TrainerState& state) {
  return state.progress.step > 0 && !state.due_validation ? state.progress.step : -1;
}

}  // namespace

Trainer::Trainer(const TrainerParts& parts, const TrainerState& state)
    : loop_(parts, state),
      batches_(loop_),
      core_wait_(parts.plan, loop_.rank()),
      saves_(parts.checkpoints, parts.clock, [this] { return snapshot_of(loop_); }, saved_step(state)) {}

void Trainer::prepare() { look_at_first_batch(loop_, batches_, recovery_); }

void Trainer::try_out() { larmor::try_out(loop_, validations_); }

TrainingEnd Trainer::run() {
  const auto& parts = loop_.parts;
  auto& state = loop_.state;
  for (auto& learner : parts.learners) learner.objective.network->train();
  loop_.mark = parts.clock.steady_seconds();

  std::optional<double> metric;
  stops_.ask_ranks();
  if (state.due_validation && stops_.reason() != StopReason::signal)
    metric = validations_.validate_and_save(*std::exchange(state.due_validation, std::nullopt));
  auto reason = stops_.reason();
  for (; !reason; reason = stops_.reason()) {
    const Progress before = state.progress;
    const auto outcome = step_.run();
    loop_.advance();
    parts.tracker.event(loop_.moment(), "step", outcome.values, "");
    tell_of_step(outcome.values);
    warn_of_core_wait();
    if (outcome.votes.stop) stops_.note_stop();
    if (outcome.votes.save_ended) saves_.settle();
    metric = conclude_step(before);
  }
  saves_.save(state.progress.step, metric, /*last=*/true);
  loop_.enter(Phase::finished);
  return {.reason = *reason, .words = stops_.words(*reason), .state = state};
}

std::optional<double> Trainer::conclude_step(const Progress& before) {
  const auto& parts = loop_.parts;
  const auto& progress = loop_.state.progress;
  const bool at_end = parts.timetable.finished(progress);
  const auto due = [&](const Length& interval) {
    return at_end || parts.timetable.due(interval, before, progress);
  };
  const bool validation_due = due(parts.config.train.validate_every);
  const bool checkpoint_due = due(parts.config.checkpoint.every);
  if (validation_due) loop_.warn(batches_.verdict_on_waits());
  if (validation_due && parts.validation_cases.size() > 0)
    return validations_.validate_and_save(
        {.pictures = due(parts.config.track.pictures_every), .checkpoint = checkpoint_due});
  if (checkpoint_due) saves_.save(progress.step, std::nullopt, /*last=*/at_end);
  return std::nullopt;
}

void Trainer::tell_of_step(const Values& values) {
  std::map<std::string, double> recorded;
  const auto letters = std::string_view(records_prefix).size();
  for (const auto& [name, value] : values) {
    if (name.starts_with(records_prefix)) recorded.emplace(name.substr(letters), value);
  }
  const auto complaint = loop_.parts.task.complaint(recorded);
  if (complaint && loop_.state.told.insert(complaint->key).second) loop_.warn(complaint->words);
}

void Trainer::warn_of_core_wait() {
  const auto words = core_wait_.look(loop_.parts.clock.steady_seconds());
  loop_.warn(words);
  // The first rank alone has sinks.
  if (!words.empty() && !loop_.parts.communicator.is_first()) log::warning(words);
}

}  // namespace larmor
