#include "larmor/train/validations.h"

#include <cmath>

#include "larmor/base/text.h"
#include "larmor/judge/figure_watch.h"

namespace larmor {

namespace {

/// "val/auc", and "val/auc@1y" of a part.
Values values_of(const ValidationResult& result) {
  Values values;
  for (const auto& [name, metric] : result.metrics) {
    values["val/" + name] = metric.mean;
    for (const auto& [part, value] : metric.parts) values[text("val/", name, "@", part)] = value;
  }
  return values;
}

}  // namespace

void rate(double metric, const RunConfig& config, const std::vector<Learner>& learners, TrainerState& state) {
  const bool lower = config.checkpoint.mode == "min";
  const bool gained =
      std::isfinite(metric) &&
      (!state.best_metric || (lower ? metric < *state.best_metric : metric > *state.best_metric));
  if (gained) {
    state.best_metric = metric;
    state.best_step = state.progress.step;
  }
  state.validations_without_gain = gained ? 0 : state.validations_without_gain + 1;
  for (const auto& learner : learners) {
    if (learner.optim.schedule.name == "plateau")
      note_validation(learner.optim.schedule, gained, state.plateaus[learner.objective.name]);
  }
}

std::optional<double> Validations::validate_and_save(const DueValidation& due) {
  const auto metric = metric_now(due.pictures);
  const auto& progress = loop_.state.progress;
  if (!metric) {
    loop_.state.due_validation = due;
    return std::nullopt;
  }
  if (due.checkpoint || loop_.state.best_step == progress.step)
    saves_.save(progress.step, metric, /*last=*/loop_.parts.timetable.finished(progress));
  stops_.ask_ranks();
  return metric;
}

std::optional<double> Validations::metric_now(bool with_pictures) {
  const auto& parts = loop_.parts;
  loop_.enter(Phase::validating);
  const double started = parts.clock.steady_seconds();
  const auto result = validated(with_pictures);
  if (!result) {
    stops_.note_stopped_validation();
    return std::nullopt;
  }
  const auto values = values_of(*result);
  stops_.note_validation(parts.clock.steady_seconds() - started);
  parts.tracker.event(loop_.moment(), "validation", values, "");
  const double over = parts.timetable.part_over(loop_.state.progress);
  for (const auto& [kind, words] : tellings_of(*result, over, loop_.state.told))
    parts.tracker.event(loop_.moment(), kind, {}, words);
  for (const auto& [name, image] : result->pictures) parts.tracker.picture(loop_.moment(), name, image);

  const auto& wanted = parts.config.checkpoint.metric;
  const auto found = values.find(wanted);
  if (found == values.end()) {
    fail(Exit::usage, text("checkpoint.metric is ", wanted, ", which validation does not give"),
         "set checkpoint.metric to one of the val/ names in events.jsonl, such as val/loss");
  }
  rate(found->second, parts.config, parts.learners, loop_.state);
  return found->second;
}

ValidationOptions Validations::options() {
  const auto& parts = loop_.parts;
  return {.device = parts.device,
          .precision = loop_.plan.precision,
          .layout = loop_.plan.layout,
          .seed = static_cast<uint64_t>(parts.config.run.seed),
          .feed = &feed_,
          .stop_asked = parts.stop_asked};
}

std::optional<ValidationResult> Validations::validated(bool with_pictures) {
  const auto& parts = loop_.parts;
  try {
    auto options = this->options();
    options.pictures = with_pictures;
    options.workers = loop_.plan.loader_threads;
    options.reference = parts.reference_cases;
    options.reference_values = &reference_values_;
    options.stop_asked = stops_.asks_validation();
    options.progress = [&parts](const WorkProgress& progress) { parts.tracker.progress(progress); };
    for (auto& learner : parts.learners) learner.parallel->share_buffers();
    const auto averaged = averaged_weights(parts.learners, parts.config);
    const auto whole = whole_networks(parts.learners);
    auto result = validate(parts.task, parts.validation_cases, parts.communicator, options);
    if (!result.bad.empty()) {
      loop_.bad.add(result.bad);
      loop_.bad.share(loop_.moment());
    }
    return result;
  } catch (...) {
    if (is_stop(std::current_exception())) return std::nullopt;
    saves_.save_before_the_end(loop_.state.progress.step, std::current_exception());
    throw;
  }
}

std::set<std::string> Validations::names_given(const Dataset& cases, const Dataset* reference) {
  auto options = this->options();
  options.pictures = true;
  options.reference = reference;
  std::set<std::string> names;
  try {
    const auto result = validate(loop_.parts.task, cases, loop_.parts.communicator, options);
    for (const auto& [name, metric] : result.metrics) names.insert("val/" + name);
  } catch (const Error& error) {
    // Cases that cannot be used are left out and counted by the validations of the run.
    if (error.exit() != Exit::data && error.exit() != Exit::stopped) throw;
  }
  return names;
}

}  // namespace larmor
