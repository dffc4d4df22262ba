#include "larmor/train/validation.h"

#include <algorithm>
#include <optional>

#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/device/autocast.h"
#include "larmor/device/draw.h"
#include "larmor/train/batch_device.h"

namespace larmor {

namespace {

class Collected final : public Metrics {
 public:
  explicit Collected(bool wants_pictures) : wants_pictures_(wants_pictures) {}
  void value(const std::string& name, int64_t example, double value) override {
    values[name].emplace_back(example, value);
  }
  void picture(const std::string& name, const Image& image) override { pictures.emplace_back(name, image); }
  bool wants_pictures() const override { return wants_pictures_; }

  std::map<std::string, std::vector<std::pair<int64_t, double>>> values;
  std::vector<std::pair<std::string, Image>> pictures;
  std::vector<BadFile> bad;

 private:
  bool wants_pictures_;
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
  json["values"] = Json::object();
  for (const auto& [name, values] : collected.values) json["values"][name] = values;
  // The reasons quote files, which may hold anything.
  json["bad"] = to_json(collected.bad).dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto bytes = Json::to_cbor(json);
  return {bytes.begin(), bytes.end()};
}

ValidationResult merge(const std::vector<std::string>& packed) {
  ValidationResult result;
  for (const auto& bytes : packed) {
    const auto json = Json::from_cbor(bytes.begin(), bytes.end());
    for (const auto& [name, values] : json.at("values").items()) {
      for (const auto& entry : values) {
        result.metrics[name].per_case.emplace_back(entry[0].get<int64_t>(), entry[1].get<double>());
      }
    }
    for (auto& file : bad_files_from(parse_json(json.at("bad").get<std::string>(), "a rank's bad files")))
      result.bad.push_back(std::move(file));
  }
  for (auto& [name, metric] : result.metrics) {
    std::sort(metric.per_case.begin(), metric.per_case.end());
    double sum = 0;
    for (const auto& [example, value] : metric.per_case) sum += value;
    metric.mean = sum / static_cast<double>(metric.per_case.size());
  }
  return result;
}

std::optional<Sample> read_case(const Dataset& dataset, const ExampleKey& key, std::vector<BadFile>& bad) {
  try {
    return dataset.get(key);
  } catch (const Error& error) {
    if (error.exit() != Exit::data) throw;
    bad.push_back(bad_file_of(dataset, key.example, error));
    return std::nullopt;
  }
}

}  // namespace

ValidationResult validate(Task& task, const Dataset& dataset, Communicator& communicator,
                          const ValidationOptions& options) {
  const EvaluationMode evaluation(task);
  const torch::NoGradGuard no_grad;
  Collected collected(options.pictures && communicator.is_first());
  for (int64_t example = communicator.rank(); example < dataset.size(); example += communicator.size()) {
    // Validation draws, where it draws at all, the same for a case every time: epoch 0.
    const ExampleKey key{.seed = options.seed, .epoch = 0, .example = example};
    const auto sample = read_case(dataset, key, collected.bad);
    if (!sample) continue;
    const auto batch = to_device(collate({*sample}, {key}), options.device, options.precision);
    const DrawScope draws(draw_position_of(batch));
    const AutocastScope autocast(options.device.type(), options.precision);
    task.validate(batch, collected);
  }
  ValidationResult result = merge(all_gather_bytes(communicator, pack(collected)));
  if (static_cast<int64_t>(result.bad.size()) == dataset.size()) {
    fail(Exit::data,
         text("none of the ", dataset.size(), " cases to validate on can be used:", listing(result.bad)),
         "look at one of them with larmor inspect FILE");
  }
  result.pictures = std::move(collected.pictures);
  return result;
}

}  // namespace larmor
