#include "workloads/survival/risk/risk_stage.h"

#include <string>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/device/tensors/weights_file.h"
#include "larmor/transforms/declared_chain.h"
#include "larmor/transforms/transforms.h"

#include "workloads/survival/risk/cohort.h"
#include "workloads/survival/risk/pretrained.h"
#include "workloads/survival/risk/survival_task.h"
#include "workloads/survival/risk/table.h"

namespace larmor::survival {

namespace {

constexpr const char* cohort_kind = "cohort";

std::string counted_events(const Index& index) {
  std::vector<std::string> words;
  for (const auto split : {Split::train, Split::val, Split::test}) {
    const auto outcomes = outcomes_of(index, split);
    if (outcomes.size() > 0)
      words.push_back(text(outcomes.events(), " of ", outcomes.size(), " in ", to_text(split)));
  }
  return text("events: ", join(words, ", "));
}

// Without an event there is nothing to learn, and nothing to be measured by.
void refuse_eventless_splits(const Index& index, const RunConfig& config) {
  const auto training = outcomes_of(index, Split::train), validation = outcomes_of(index, Split::val);
  const bool validates = config.train.validate_every.amount > 0 && validation.size() > 0;
  for (const auto& [split, outcomes] : {std::pair{"train", &training}, {"val", &validation}}) {
    const bool matters = split == std::string("train") || validates;
    if (!matters || outcomes->size() == 0 || outcomes->events() > 0) continue;
    fail(Exit::data, text("the split ", split, " has no event among its ", outcomes->size(), " cases"),
         "give it more cases with data.split or the fold column, or correct the event column");
  }
}

// Batches of events alone compare nobody with anybody who had more time.
void refuse_quota_without_others(const Index& index, int64_t events_per_batch) {
  const auto training = outcomes_of(index, Split::train);
  if (events_per_batch == 0 || training.events() < training.size()) return;
  fail(Exit::data, text("all ", training.size(), " training cases have the event"),
       "leave loss.events_per_batch at 0: every batch is full of them");
}

}  // namespace

WorkloadFields RiskStage::fields() {
  return {.data = [this](Fields& f) { config_.describe_data(f); },
          .data_kinds = {cohort_kind},
          .data_keys = {{"list", {"columns", "folds", "covariates"}},
                        {cohort_kind, {"cohort_cases", "cohort_size", "seed"}}},
          .model = [this](Fields& f) { config_.describe_model(f); },
          .loss = [this](Fields& f) { config_.describe_loss(f); },
          .objectives = {}};
}

ImageForm RiskStage::form() const {
  return {.channels = {.count = config_.network.n_input_channels, .keys = {"model.n_input_channels"}},
          .weights = {{"model.weights", config_.weights}},
          .volumes = [seed = static_cast<uint64_t>(config_.cohort_seed),
                      size = config_.cohort_size](const DataConfig& data) -> MadeVolumes {
            const auto make = [=](const Case& entry, int64_t) -> Volumes {
              return {{"image", make_cohort_volume(seed, cohort_number(entry.name()), size)}};
            };
            if (data.kind != cohort_kind) return {.make = make};
            return {.extent = {{size[0], size[1], size[2]}, cohort_affine(size)}, .make = make};
          },
          .batches = {.micro_batch = 6,
                      .fewest_in_step = 2,  // Cox's loss compares who has the event with who is still at risk
                      .batch_norm = config_.network.norm == nn::ResNetNorm::batch},
          .reference = ReferenceCases{.count = config_.baseline_cases, .when_quick = true}};
}

void RiskStage::check(const RunConfig& config) const {
  config_.check(config);
  ImageStage::check(config);
  const TransformChain chain(training_chain(config.data.transforms));
  if (chain.samples_per_volume() > 1 && config_.events_per_batch > 0) {
    fail(Exit::usage, "loss.events_per_batch with several crops of each image",
         "crop one with RandSpatialCrop, or leave loss.events_per_batch at 0");
  }
}

void RiskStage::check_start(const Sample& first) const {
  ImageStage::check_start(first);
  if (config_.weights.empty()) return;
  nn::ResNet shapes(config_.network, c10::kMeta);
  const auto report = start_from(*shapes, read_published_weights(config_.weights), config_.weights);
  for (const auto& line : lines_of(report)) log::info(line);
}

Index RiskStage::cases_in(const DataConfig& data, const RunConfig& config) const {
  const auto seed = static_cast<uint64_t>(config.run.seed);
  if (data.kind == cohort_kind) {
    const auto cohort_seed = static_cast<uint64_t>(config_.cohort_seed);
    uint64_t bytes = sizeof(float);
    for (const int64_t size : config_.cohort_size) bytes *= static_cast<uint64_t>(size);
    return make_invented_index(data, seed,
                               cohort_cases(cohort_seed, config_.cohort_cases, config_.cohort_size), bytes);
  }
  const auto table = read_survival_table(data.list, config_.columns, config_.folds, config_.covariates);
  Index index = make_index(data, seed, table.cases);
  index.patients_by += "; " + table.sentence;
  return index;
}

Index RiskStage::index(const RunConfig& config) const {
  Index index = cases_in(config.data, config);
  index.patients_by += "; " + counted_events(index);
  check_covariates(config_.covariates, index);
  if (!config_.covariates.empty())
    index.patients_by += "; " + Covariates(config_.covariates, index).sentence();
  refuse_eventless_splits(index, config);
  refuse_quota_without_others(index, config_.events_per_batch);
  choose_horizons(config_.horizons, config_.time_unit, outcomes_of(index, Split::train));
  return index;
}

ExampleOrder RiskStage::order(const RunConfig& config, const Index& index, const Dataset& dataset) const {
  const auto seed = static_cast<uint64_t>(config.run.seed);
  if (config_.events_per_batch == 0) return make_order(config.data, seed, dataset);
  std::vector<int64_t> events;
  const auto outcomes = outcomes_of(index, Split::train);
  for (std::size_t row = 0; row < outcomes.size(); ++row) {
    if (outcomes.event[row] != 0) events.push_back(static_cast<int64_t>(row));
  }
  return ExampleOrder(seed, dataset.size(),
                      Quota(seed, dataset.size(), std::move(events), config_.events_per_batch,
                            config.train.global_batch.value()));  // check() has seen to it
}

std::unique_ptr<Task> RiskStage::make_task(const RunConfig& config, const Index& index,
                                           const TaskSetting& setting) const {
  SurvivalConfig own = config_;
  own.validates_average = config.train.validate_with == "average";
  return std::make_unique<SurvivalTask>(own, outcomes_of(index, Split::train),
                                        Covariates(config_.covariates, index), setting.seed, setting.device);
}

PredictionForm RiskStage::prediction(const RunConfig& config) const {
  PredictionForm form = ImageStage::prediction(config);
  form.transforms = validation_chain(config.data.transforms);
  form.columns = [columns = config_.columns](const CsvTable& table, const std::string& place) {
    return columns_to_predict(table, place, columns);
  };
  if (config_.covariates.empty()) return form;
  for (const std::string& column : config_.covariates.all())
    form.inputs.push_back({.name = column,
                           .kind = PredictionInput::Kind::text,
                           .may_be_empty = true,
                           .of_case = [columns = config_.covariates, column](const Case& entry) {
                             return covariate_cell(columns, column, entry);
                           }});
  form.check = [columns = config_.covariates](const std::map<std::string, std::string>& given) {
    check_covariates(columns, given);
  };
  return form;
}

}  // namespace larmor::survival
