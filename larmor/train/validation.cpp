#include "larmor/train/validation.h"

#include <algorithm>
#include <optional>

#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/device/autocast.h"
#include "larmor/device/draw.h"
#include "larmor/device/life_sign.h"
#include "larmor/formats/stage_clock.h"
#include "larmor/train/batch_device.h"

namespace larmor {

namespace {

class Collected final : public Metrics {
 public:
  explicit Collected(const ValidationOptions& options, bool draws)
      : wants_pictures_(options.pictures && draws), wants_intervals_(options.intervals) {}
  void value(const std::string& name, int64_t example, double value) override {
    values[name].emplace_back(example, value);
  }
  void note(const std::string& name, int64_t example, double value) override {
    notes[name].emplace_back(example, value);
  }
  void figure(const std::string& name, const Figure& figure) override { figures[name] = figure; }
  void picture(const std::string& name, const Image& image) override { pictures.emplace_back(name, image); }
  bool wants_pictures() const override { return wants_pictures_; }
  bool wants_intervals() const override { return wants_intervals_; }

  CaseValues values, notes;
  std::map<std::string, Figure> figures;
  std::vector<std::pair<std::string, Image>> pictures;
  std::vector<BadFile> bad;

 private:
  bool wants_pictures_, wants_intervals_;
};

class EvaluationMode {
 public:
  explicit EvaluationMode(Task& task) {
    for (const auto& objective : task.objectives()) {
      if (objective.network->is_training()) training_.push_back(objective.network);
      objective.network->eval();
    }
  }
  ~EvaluationMode() {
    for (auto* network : training_) network->train();
  }

 private:
  std::vector<torch::nn::Module*> training_;
};

// CBOR keeps every bit of a double, NaN included.
std::string pack(const Collected& collected) {
  Json json;
  json["values"] = collected.values;
  json["notes"] = collected.notes;
  // The reasons quote files, which may hold anything.
  json["bad"] = to_json(collected.bad).dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto bytes = Json::to_cbor(json);
  return {bytes.begin(), bytes.end()};
}

void append_values(CaseValues& all, const Json& more) {
  for (const auto& [name, values] : more.items()) {
    for (const auto& entry : values) all[name].emplace_back(entry[0].get<int64_t>(), entry[1].get<double>());
  }
}

/// What all ranks have collected, in the order of the examples.
struct Gathered {
  CaseValues values, notes;
  std::vector<BadFile> bad;

  /// For Task::summarize().
  CaseValues all() const {
    CaseValues both = values;
    both.insert(notes.begin(), notes.end());
    return both;
  }
};

Gathered gather(Communicator& communicator, const Collected& collected) {
  Gathered gathered;
  for (const auto& bytes : all_gather_bytes(communicator, pack(collected))) {
    const auto json = Json::from_cbor(bytes.begin(), bytes.end());
    append_values(gathered.values, json.at("values"));
    append_values(gathered.notes, json.at("notes"));
    for (auto& file : bad_files_from(parse_json(json.at("bad").get<std::string>(), "a rank's bad files")))
      gathered.bad.push_back(std::move(file));
  }
  for (auto* const values : {&gathered.values, &gathered.notes}) {
    for (auto& [name, per_case] : *values) std::sort(per_case.begin(), per_case.end());
  }
  return gathered;
}

ValidationResult result_of(const Gathered& gathered, const Collected& summary) {
  ValidationResult result;
  result.bad = gathered.bad;
  for (const auto& [name, per_case] : gathered.values) {
    double sum = 0;
    for (const auto& [example, value] : per_case) sum += value;
    result.metrics[name] = {.mean = sum / static_cast<double>(per_case.size()), .per_case = per_case};
  }
  for (const auto& [name, figure] : summary.figures) {
    auto& metric = result.metrics[name];
    metric.mean = figure.value;
    metric.interval = figure.interval;
    metric.parts_by = figure.parts_by;
    metric.parts = figure.parts;
  }
  return result;
}

std::optional<Sample> read_case(const Dataset& dataset, const ExampleKey& key, std::vector<BadFile>& bad) {
  const StageClock stages(show_life);
  try {
    return dataset.get(key);
  } catch (const Error& error) {
    if (error.exit() != Exit::data) throw;
    bad.push_back(bad_file_of(dataset, key.example, error));
    return std::nullopt;
  }
}

void run_cases(Task& task, const Dataset& dataset, const Communicator& communicator,
               const ValidationOptions& options, Collected& collected) {
  for (int64_t example = communicator.rank(); example < dataset.size(); example += communicator.size()) {
    // Validation draws, where it draws at all, the same for a case every time: epoch 0.
    const ExampleKey key{.seed = options.seed, .epoch = 0, .example = example};
    const auto sample = read_case(dataset, key, collected.bad);
    if (!sample) continue;
    const auto batch = to_device(collate({*sample}, {key}), options.device, options.precision);
    const DrawScope draws(draw_position_of(batch));
    const AutocastScope autocast(options.device.type(), options.precision);
    task.validate(batch, collected);
    options.after_case();
  }
}

}  // namespace

ValidationResult validate(Task& task, const Dataset& dataset, Communicator& communicator,
                          const ValidationOptions& options) {
  const EvaluationMode evaluation(task);
  const torch::NoGradGuard no_grad;
  Collected collected(options, communicator.is_first());
  run_cases(task, dataset, communicator, options, collected);
  const auto gathered = gather(communicator, collected);
  if (static_cast<int64_t>(gathered.bad.size()) == dataset.size()) {
    fail(Exit::data,
         text("none of the ", dataset.size(), " cases to validate on can be used:", listing(gathered.bad)),
         "look at one of them with larmor inspect FILE");
  }
  CaseValues reference;
  if (options.reference != nullptr) {
    Collected of_reference({}, /*draws=*/false);
    run_cases(task, *options.reference, communicator, options, of_reference);
    reference = gather(communicator, of_reference).all();
  }
  task.summarize(gathered.all(), reference, collected);
  auto result = result_of(gathered, collected);
  result.pictures = std::move(collected.pictures);
  return result;
}

}  // namespace larmor
