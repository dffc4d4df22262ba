// `evaluate`: the metrics of a split from a run's checkpoint, in fp32 unless asked otherwise.
#include "larmor/base/error.h"
#include "larmor/base/image.h"
#include "larmor/base/log.h"
#include "larmor/base/text.h"
#include "larmor/comm/communicator.h"
#include "larmor/train/run_setup.h"
#include "larmor/train/validation.h"

#include "app/program.h"
#include "app/trained.h"

namespace larmor::app {

namespace {

struct EvaluateArguments {
  std::string split = "val", checkpoint = "best";
  bool average = false;
};

Split split_named(const std::string& name) {
  for (const auto split : {Split::train, Split::val, Split::test}) {
    if (to_text(split) == name) return split;
  }
  fail(Exit::usage, text("there is no split ", name), "say train, val or test");
}

Json metric_json(const MetricResult& metric, const Dataset& dataset) {
  Json json;
  json["mean"] = number_or_null(metric.mean);
  if (metric.interval) json["interval"] = {metric.interval->first, metric.interval->second};
  if (!metric.parts_by.empty()) {
    auto& parts = json["per_" + metric.parts_by] = Json::object();
    for (const auto& [part, value] : metric.parts) parts[part] = number_or_null(value);
  }
  if (metric.per_case.empty()) return json;
  json["per_case"] = Json::array();
  for (const auto& [example, value] : metric.per_case) {
    Json row;
    row["case"] = dataset.name(example);
    row["value"] = number_or_null(value);
    json["per_case"].push_back(row);
  }
  return json;
}

std::string metric_line(const std::string& name, const MetricResult& metric) {
  auto line = text("  ", name, "  ", fixed(metric.mean, 5));
  if (metric.interval)
    line += text(" [", fixed(metric.interval->first, 5), ", ", fixed(metric.interval->second, 5), "]");
  for (const auto& [part, value] : metric.parts) line += text("  ", part, " ", fixed(value, 4));
  return line;
}

// Beside the pictures of training; a run that cannot be written to can be judged all the same.
Lines written_pictures(const ValidationResult& result, const std::filesystem::path& folder) {
  Lines lines;
  try {
    DiskStorage storage;
    for (const auto& [name, image] : result.pictures) {
      storage.create_folders(folder);
      const auto file = folder / (name + ".png");
      write_png(storage, file, image);
      lines.add(text("  ", file.string()));
    }
  } catch (const Error& error) {
    log::warning(text("no pictures: ", error.message()));
  }
  return lines;
}

int evaluate(Program& program, const EvaluateArguments& arguments) {
  auto trained = load_trained(program, arguments.checkpoint, arguments.average);
  const Stage& stage = *trained.loaded.stage;
  const auto& config = trained.loaded.config.config;
  const auto index = stage.index(config);
  const auto dataset = stage.dataset(config, index, split_named(arguments.split));
  if (dataset->size() == 0)
    fail(Exit::data, text("the split ", arguments.split, " has no cases"), "choose another with --split");
  const auto reference = stage.reference(config, index);
  const auto communicator = make_solo();
  const auto result = validate(*trained.task, *dataset, *communicator,
                               {.seed = static_cast<uint64_t>(config.run.seed),
                                .pictures = true,
                                .intervals = true,
                                .reference = reference.get()});

  Json json;
  json["split"] = arguments.split;
  const auto used = dataset->size() - static_cast<int64_t>(result.bad.size());
  json["n"] = used;
  if (!result.bad.empty()) {
    json["bad"] = to_json(result.bad);
    log::warning(text(result.bad.size(), " of ", dataset->size(),
                      " cases cannot be used and count in no metric:", listing(result.bad)));
  }
  json["checkpoint"] = trained.checkpoint.folder.filename().string();
  Lines lines(text(arguments.split, ", ", used, " cases, ", trained.checkpoint.folder.filename().string()));
  for (const auto& [name, metric] : result.metrics) {
    json[name] = metric_json(metric, *dataset);
    lines.add(metric_line(name, metric));
  }
  lines.add(written_pictures(result, program.run_folder().pictures() / ("evaluate-" + arguments.split)));
  program.show(json, lines);
  return 0;
}

}  // namespace

void add_evaluate(Program& program) {
  const auto arguments = std::make_shared<EvaluateArguments>();
  auto& verb = program.add_run_verb("evaluate", "metrics of a run's checkpoint over a split",
                                    [&program, arguments] { return evaluate(program, *arguments); });
  verb.add_option("--split", arguments->split, "train, val or test");
  verb.add_option("--checkpoint", arguments->checkpoint, "best, last or a checkpoint folder");
  verb.add_flag("--ema", arguments->average, "the averaged weights");
}

}  // namespace larmor::app
