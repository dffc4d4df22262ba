#include "workloads/survival/risk/survival_config.h"

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "workloads/survival/risk/time_scale.h"

namespace larmor::survival {

void SurvivalConfig::describe_data(Fields& f) {
  f.section("columns", [this](Fields& inner) {
    inner.field("image", columns.image, "column with the paths; auto: guessed, as are the others");
    inner.field("time", columns.time, "column with the time of the event or of the last visit");
    inner.field("event", columns.event, "column with 1 where the event happened and 0 where not");
    inner.field("fold", columns.fold, "column with each case's split; without one patients are dealt out");
    inner.field("patient", columns.patient, "column that says whose the image is");
  });
  f.section("folds", [this](Fields& inner) {
    inner.field("train", folds.train, "words in the fold column that mean training");
    inner.field("val", folds.val, "words in the fold column that mean validation");
    inner.field("test", folds.test, "words in the fold column that mean test");
  });
  f.section("covariates", [this](Fields& inner) {
    inner.field(
        "numbers", covariates.numbers,
        "columns with numbers that the network takes beside the image, such as [age]; an empty cell is "
        "one that is not known");
    inner.field("categories", covariates.categories,
                "columns with categories that it takes beside the image, such as [sex, stage]");
  });
  f.word("time_unit", time_unit, {"d", "w", "m", "y"},
         "unit of the table's times: days, weeks, months, years");
  f.field("horizons", horizons,
          "times at which predictions are judged, such as [1y, 1800d]; empty: one to five years where the "
          "training table reaches them, or the quartiles of its events");
  f.field("cohort_cases", cohort_cases, "patients to invent, for kind cohort", at_least_one);
  f.field("cohort_size", cohort_size, "voxels along each axis of an invented patient's image", at_least_one);
  f.field("seed", cohort_seed, "seed of the invented patients", at_least_zero);
}

void SurvivalConfig::describe_model(Fields& f) {
  network.describe(f);
  f.path("weights", weights,
         "safetensors file to start from, MONAI's or MedicalNet's names; its last layer is left out");
  f.field("freeze_epochs", freeze_epochs, "epochs at the start in which only the last layer learns",
          at_least_zero);
  f.field("covariate_rate", covariate_rate,
          "learning rate of the covariates' weights, as a factor of the others'", at_least_zero);
}

void SurvivalConfig::describe_loss(Fields& f) {
  f.choice("ties", ties, {{"breslow", CoxTies::breslow}, {"efron", CoxTies::efron}},
           "how patients with the event at the same time share their risk set");
  f.field("events_per_batch", events_per_batch,
          "events that each global batch holds at least; 0: as chance has it", at_least_zero);
  f.field("baseline_cases", baseline_cases,
          "training cases whose predictions make the baseline hazard at each validation; 0: all of them",
          at_least_zero);
}

void SurvivalConfig::check(const RunConfig& config) const {
  network.check();
  if (config.data.kind != "list" && config.data.kind != "cohort") {
    fail(Exit::usage, text("data.kind is ", config.data.kind, ", and survival needs times and events"),
         "say data.kind=list with a table in data.list, or data.kind=cohort for an invented one");
  }
  if (cohort_size.size() != 3)
    fail(Exit::usage, text("data.cohort_size has ", cohort_size.size(), " numbers"), "give three");
  for (const auto& written : horizons) horizon_of(written, time_unit);
  covariates.check();
  if (config.data.kind == "cohort" && !covariates.empty())
    fail(Exit::usage, "data.covariates names columns, and an invented cohort has no table",
         "leave it out, or say data.list=FILE.csv");
  if (covariates.empty() && covariate_rate != SurvivalConfig().covariate_rate)
    fail(Exit::usage, "model.covariate_rate is given, and there are no covariates",
         "leave it out, or name columns in data.covariates.numbers or data.covariates.categories");
  if (events_per_batch == 0) return;
  if (config.data.cache == "smart") {
    fail(Exit::usage, "loss.events_per_batch with SmartCache: what its window holds decides who is seen",
         "say data.cache=full or none, or leave loss.events_per_batch at 0");
  }
  const auto batch = config.train.global_batch;
  if (!batch || events_per_batch >= *batch) {
    fail(Exit::usage,
         text("loss.events_per_batch is ", events_per_batch, ", and train.global_batch ",
              batch ? text(*batch) : std::string("auto")),
         "say a train.global_batch that holds them and somebody at risk beside them");
  }
}

}  // namespace larmor::survival
