#include "workloads/survival/risk/survival_task.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <ATen/ATen.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/device/initialisation.h"
#include "larmor/device/send.h"
#include "larmor/device/tensors/weights_file.h"
#include "larmor/task/prediction.h"

#include "workloads/survival/risk/concordance.h"
#include "workloads/survival/risk/pictures.h"
#include "workloads/survival/risk/pretrained.h"

namespace larmor::survival {

namespace {

constexpr const char* reference_name = "reference";
/// Stands beside a reference that was measured with the very weights of the checkpoint. Before there was this
/// word, checkpoints held that of an earlier step, too, and nothing told them apart.
constexpr const char* ownership_name = "reference_is_of_these_weights";

}  // namespace

SurvivalOutcomes outcomes_of(const Index& index, Split split) {
  SurvivalOutcomes outcomes;
  for (const int64_t number : index.of(split)) {
    const auto& values = index.cases[static_cast<std::size_t>(number)].values;
    outcomes.time.push_back(values.at("time"));
    outcomes.event.push_back(static_cast<uint8_t>(values.at("event")));
  }
  return outcomes;
}

SurvivalTask::SurvivalTask(const SurvivalConfig& config, const SurvivalOutcomes& training,
                           Covariates covariates, uint64_t seed, c10::Device device)
    : config_(config), covariates_(std::move(covariates)) {
  const SeededInitialisation initialisation(seed);
  network_ = std::make_shared<RiskNetwork>(config.network, covariates_.inputs(), device);
  if (training.size() == 0) return;
  censoring_ = censoring_kaplan_meier(training);
  kaplan_meier_ = kaplan_meier(training);
  horizons_ = choose_horizons(config.horizons, config.time_unit, training);
}

void SurvivalTask::start() {
  if (!config_.weights.empty())
    start_from(*network_, read_published_weights(config_.weights), config_.weights);
}

std::vector<Objective> SurvivalTask::objectives() {
  Objective objective{.name = "risk", .network = network_.get()};
  if (covariates_.inputs() > 0)
    objective.rules.push_back({.prefix = "covariates.", .rate = config_.covariate_rate});
  return {objective};
}

std::vector<at::Tensor> SurvivalTask::losses(const Batch&, const StepContext&) {
  fail(Exit::unexpected, "Cox's loss is one of the whole batch");
}

at::Tensor SurvivalTask::log_risk(const at::Tensor& features, const Batch& batch) {
  return network_->log_risk(
      features, covariates_.inputs() > 0 ? covariates_.rows(batch, batch.at("image")) : at::Tensor());
}

at::Tensor SurvivalTask::log_risk(const Batch& batch) {
  return log_risk(network_->features(batch.at("image")), batch);
}

at::Tensor SurvivalTask::rows(const Batch& batch, const StepContext& context) {
  if (context.epoch >= config_.freeze_epochs) return log_risk(batch);
  at::Tensor features;
  {
    const at::NoGradGuard frozen;
    features = network_->features(batch.at("image"));
  }
  return log_risk(features, batch);
}

at::Tensor SurvivalTask::targets(const Batch& batch) {
  return at::stack({batch.at("time"), batch.at("event")}, 1);
}

at::Tensor SurvivalTask::loss(const at::Tensor& rows, const at::Tensor& targets, const StepContext& context) {
  forget_reference();  // it is not of the weights that will come of this
  const auto time = targets.select(1, 0), event = targets.select(1, 1);
  const auto value = cox_loss(rows, time, event, config_.ties);
  context.record("loss", value.detach());
  context.record("events", event.sum());
  const auto there = send(targets, rows.device());
  const auto concordance = harrell_sums(rows.detach(), there.select(1, 0), there.select(1, 1));
  context.record_ratio("c_index", concordance.concordant, concordance.comparable);
  return value;
}

void SurvivalTask::validate(const Batch& batch, Metrics& metrics) {
  covariates_.refuse_unseen(batch);
  const auto risks = numbers_in(log_risk(batch));
  for (int64_t row = 0; row < batch.size(); ++row) {
    const auto example = batch.keys[static_cast<std::size_t>(row)].example;
    metrics.value("risk", example, risks[static_cast<std::size_t>(row)]);
    for (const auto* name : {"time", "event", "truth"}) {
      if (batch.tensors.contains(name)) metrics.note(name, example, batch.at(name)[row].item<double>());
    }
  }
}

void SurvivalTask::summarize(const CaseValues& cases, const CaseValues& reference, Metrics& metrics) {
  set_reference(Predictions::from(reference));
  if (!censoring_) return;
  record_figures(Predictions::from(cases),
                 {.censoring = *censoring_,
                  .baseline = baseline_.value_or(StepCurve(0, {}, {})),
                  .survival = *kaplan_meier_,
                  .horizons = baseline_ ? horizons_ : std::vector<Horizon>(),
                  .ties = config_.ties,
                  .time_unit = name_of_unit(config_.time_unit)},
                 metrics);
}

DeclaredFigures SurvivalTask::figures() const {
  using enum Better;
  const Baseline chance{.name = "chance", .value = 0.5};
  return {
      {.name = "loss", .better = lower, .meaning = "Cox's, of the split as one batch"},
      {.name = "c_index",
       .better = higher,
       .meaning = "share of comparable pairs in the right order (Harrell's)",
       .baselines = {chance}},
      {.name = "c_index_ipcw",
       .better = higher,
       .meaning = "the same, weighted against censoring (Uno's)",
       .baselines = {chance}},
      {.name = "c_index_of_truth", .better = higher, .meaning = "of the true risk: what can be reached"},
      {.name = "auc",
       .better = higher,
       .meaning = "of the event by a horizon, mean over horizons",
       .baselines = {chance}},
      {.name = "brier",
       .better = lower,
       .meaning = "squared error of survival probabilities, mean over horizons",
       .baselines = {{.name = "brier_kaplan_meier"}}},
      {.name = "brier_kaplan_meier", .better = lower, .meaning = "the same of training's Kaplan-Meier curve"},
      {.name = "ibs",
       .better = lower,
       .meaning = "the Brier score, integrated over horizons",
       .baselines = {{.name = "ibs_kaplan_meier"}}},
      {.name = "ibs_kaplan_meier", .better = lower, .meaning = "the same of training's Kaplan-Meier curve"},
      {.name = "risk", .meaning = "mean log-risk of the cases; only its order means something"},
  };
}

CaseColumns SurvivalTask::case_columns(const CaseValues& cases) const {
  const auto seen = Predictions::from(cases);
  CaseColumn time{
      .name = "time", .meaning = "followed for", .unit = std::string(name_of_unit(config_.time_unit))},
      event{.name = "event", .meaning = "1 where the event was seen, 0 where the case was censored"},
      group{.name = "group", .meaning = "third of the cases by their risk"},
      truth{.name = "risk_truth", .meaning = "true log-risk"};
  for (std::size_t row = 0; row < seen.examples.size(); ++row) {
    time.numbers[seen.examples[row]] = seen.outcomes.time[row];
    event.numbers[seen.examples[row]] = seen.outcomes.event[row];
    if (!seen.truth.empty()) truth.numbers[seen.examples[row]] = seen.truth[row];
  }
  if (seen.is_finite()) {
    for (const RiskGroup& one : risk_groups(seen.log_risk)) {
      for (const std::size_t row : one.rows) group.words[seen.examples[row]] = one.name;
    }
  }
  CaseColumns columns{time, event, group};
  if (!truth.numbers.empty()) columns.push_back(truth);
  return columns;
}

void SurvivalTask::forget_reference() {
  baseline_.reset();
  ranked_risks_.clear();
  reference_ = {};
}

// Risks that are no numbers say nothing of anybody.
void SurvivalTask::set_reference(Predictions reference) {
  forget_reference();
  reference_ = std::move(reference);
  if (reference_.log_risk.empty() || !reference_.is_finite()) return;
  baseline_ = breslow_baseline(reference_.log_risk, reference_.outcomes);
  ranked_risks_ = reference_.log_risk;
  std::ranges::sort(ranked_risks_);
}

std::string SurvivalTask::missing_values() const {
  if (baseline_) return {};
  return "only the risk is given, without percentile and survival probabilities: they need the risks of the "
         "training cases under these very weights, which a validation measures and the checkpoint of its "
         "step keeps, for the weights that are no average. Choose such a checkpoint with --checkpoint; best "
         "is one";
}

Prediction SurvivalTask::predict(const Batch& inputs, const PredictionContext& context) {
  Batch batch;
  if (covariates_.inputs() > 0) {
    if (!covariates_.is_known())
      fail(Exit::usage, "weights of a file do not say what data.covariates were in training",
           "predict with the run that they come from: larmor predict RUN");
    batch = covariates_.batch_of(context.texts);
  }
  batch.tensors["image"] = inputs.at("image");
  const double risk = log_risk(batch).item<double>();
  Prediction prediction{.numbers = {{"risk", risk}}};
  if (!baseline_) return prediction;
  const auto below = std::ranges::lower_bound(ranked_risks_, risk) - ranked_risks_.begin();
  prediction.numbers.emplace_back(
      "percentile", 100.0 * static_cast<double>(below) / static_cast<double>(ranked_risks_.size()));
  for (const auto& horizon : horizons_)
    prediction.numbers.emplace_back("survival_" + horizon.name,
                                    survival_probability(*baseline_, risk, horizon.time));
  return prediction;
}

void SurvivalTask::save(StateWriter& writer) const {
  if (reference_.log_risk.empty()) return;
  const std::vector<double> event(reference_.outcomes.event.begin(), reference_.outcomes.event.end());
  writer.tensor(reference_name, at::stack({at::tensor(reference_.log_risk, at::kDouble),
                                           at::tensor(reference_.outcomes.time, at::kDouble),
                                           at::tensor(event, at::kDouble)}));
  writer.value(ownership_name, true);
}

void SurvivalTask::load(const StateReader& reader, bool of_average) {
  forget_reference();
  if (of_average != config_.validates_average) return;  // the risks were measured with the other weights
  if (!reader.has(reference_name) || !reader.has(ownership_name)) return;
  const auto table = reader.tensor(reference_name);
  set_reference({.log_risk = numbers_in(table[0]), .outcomes = outcomes_in(table[1], table[2]), .truth = {}});
}

}  // namespace larmor::survival
