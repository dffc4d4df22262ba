#include "larmor/train/validation.h"

#include <algorithm>
#include <cstddef>
#include <exception>

#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/stage_clock.h"
#include "larmor/base/text.h"
#include "larmor/device/autocast.h"
#include "larmor/device/draw_position.h"
#include "larmor/device/life_sign.h"
#include "larmor/device/out_of_memory.h"
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

  /// What another one has collected.
  void take(Collected&& more) {
    const auto append = [](CaseValues& own, const CaseValues& others) {
      for (const auto& [name, per_case] : others)
        own[name].insert(own[name].end(), per_case.begin(), per_case.end());
    };
    append(values, more.values);
    append(notes, more.notes);
    for (auto& picture : more.pictures) pictures.push_back(std::move(picture));
  }

  CaseValues values, notes;
  std::map<std::string, Figure> figures;
  std::vector<std::pair<std::string, Image>> pictures;
  std::vector<std::pair<int64_t, BadFile>> bad;  // by example

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

/// What ended a rank's cases: it has to take part in what comes, or the others would wait for it.
struct Failure {
  std::exception_ptr exception;
  std::string name;  // of the case

  Json json() const {
    if (!exception) return nullptr;
    try {
      std::rethrow_exception(exception);
    } catch (const Error& error) {
      return {static_cast<int>(error.exit()), error.message()};
    } catch (const std::exception& error) {
      const auto exit = is_out_of_memory(exception) ? Exit::memory : Exit::unexpected;
      return {static_cast<int>(exit), text("while validating ", name, ": ", error.what())};
    }
  }
};

// CBOR keeps every bit of a double, NaN included.
std::string pack(const Collected& collected, const Failure& failure) {
  Json json;
  json["values"] = collected.values;
  json["notes"] = collected.notes;
  json["bad"] = Json::array();
  for (const auto& [example, file] : collected.bad) {
    // The reasons quote files, which may hold anything.
    json["bad"].push_back({example, to_json({file}).dump(-1, ' ', false, Json::error_handler_t::replace)});
  }
  json["failure"] = failure.json().dump(-1, ' ', false, Json::error_handler_t::replace);
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

// A failure of one rank is one of all.
void throw_failures(const Failure& own, const std::vector<Json>& of_ranks) {
  if (own.exception) std::rethrow_exception(own.exception);
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    if (of_ranks[rank].is_null()) continue;
    fail(static_cast<Exit>(of_ranks[rank][0].get<int>()),
         text("the validation failed on rank ", rank, ": ", of_ranks[rank][1].get<std::string>()),
         "see that rank's log in the run folder");
  }
}

Gathered gather(Communicator& communicator, const Collected& collected, const Failure& failure) {
  Gathered gathered;
  std::vector<Json> failures;
  std::map<int64_t, BadFile> bad;
  for (const auto& bytes : all_gather_bytes(communicator, pack(collected, failure))) {
    const auto json = Json::from_cbor(bytes.begin(), bytes.end());
    append_values(gathered.values, json.at("values"));
    append_values(gathered.notes, json.at("notes"));
    for (const auto& entry : json.at("bad")) {
      const auto files = parse_json(entry[1].get<std::string>(), "a rank's bad case");
      bad.emplace(entry[0].get<int64_t>(), bad_files_from(files).at(0));
    }
    failures.push_back(parse_json(json.at("failure").get<std::string>(), "a rank's failure"));
  }
  throw_failures(failure, failures);
  for (auto& [example, file] : bad) gathered.bad.push_back(std::move(file));
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

Sample read_case(const Dataset& dataset, const ExampleKey& key) {
  const StageClock stages(show_life);
  return dataset.get(key);
}

// A case counts as a whole or, where its files or the task refuse it, not at all.
void validate_case(Task& task, const Dataset& dataset, const ExampleKey& key,
                   const ValidationOptions& options, Collected& collected) {
  Collected own(options, collected.wants_pictures());
  try {
    const auto batch =
        to_device(collate({read_case(dataset, key)}, {key}), options.device, options.precision);
    const DrawScope draws(draw_position_of(batch));
    const AutocastScope autocast(options.device.type(), options.precision);
    task.validate(batch, own);
  } catch (const Error& error) {
    if (error.exit() != Exit::data) throw error.within(text("while validating ", dataset.name(key.example)));
    collected.bad.emplace_back(key.example, bad_file_of(dataset, key.example, error));
    return;
  }
  collected.take(std::move(own));
}

Failure run_cases(Task& task, const Dataset& dataset, const Communicator& communicator,
                  const ValidationOptions& options, Collected& collected) {
  for (int64_t example = communicator.rank(); example < dataset.size(); example += communicator.size()) {
    try {
      // Validation draws, where it draws at all, the same for a case every time: epoch 0.
      validate_case(task, dataset, {.seed = options.seed, .epoch = 0, .example = example}, options,
                    collected);
    } catch (...) {
      return {std::current_exception(), dataset.name(example)};
    }
    options.after_case();
  }
  return {};
}

}  // namespace

ValidationResult validate(Task& task, const Dataset& dataset, Communicator& communicator,
                          const ValidationOptions& options) {
  const EvaluationMode evaluation(task);
  const torch::NoGradGuard no_grad;
  Collected collected(options, communicator.is_first());
  const auto failure = run_cases(task, dataset, communicator, options, collected);
  const auto gathered = gather(communicator, collected, failure);
  if (static_cast<int64_t>(gathered.bad.size()) == dataset.size()) {
    fail(Exit::data,
         text("none of the ", dataset.size(), " cases to validate on can be used:", listing(gathered.bad)),
         "look at one of them with larmor inspect FILE");
  }
  CaseValues reference;
  if (options.reference != nullptr) {
    Collected of_reference({}, /*draws=*/false);
    const auto of_cases = run_cases(task, *options.reference, communicator, options, of_reference);
    reference = gather(communicator, of_reference, of_cases).all();
  }
  task.summarize(gathered.all(), reference, collected);
  auto result = result_of(gathered, collected);
  result.pictures = std::move(collected.pictures);
  return result;
}

}  // namespace larmor
