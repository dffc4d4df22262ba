// `compare`: in what runs differ, and whether their figures can be told apart.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/judge/paired_figures.h"
#include "larmor/report/run_document.h"
#include "larmor/run/run_folder.h"

#include "app/evaluation.h"
#include "app/program.h"

namespace larmor::app {

namespace {

struct CompareFlags {
  std::vector<std::string> runs;
  std::string folder = RunSection{}.folder, split = to_text(Split::val);
};

/// A run with what it has left of itself.
struct ComparedRun {
  RunFolder folder;
  std::string name;
  Json document;
  std::optional<KeptEvaluation> evaluation;
};

std::optional<KeptEvaluation> evaluation_of(const RunFolder& folder, const std::string& split) {
  try {
    KeptEvaluation kept{read_json(folder.figures(split)), read_json(folder.draws(split))};
    if (!kept.draws.contains("cases") || !kept.draws.contains("figures")) return std::nullopt;
    return kept;
  } catch (const Error&) {
    return std::nullopt;
  }
}

ComparedRun read_run(const std::string& word, const CompareFlags& flags) {
  const auto folder = find_run(word, flags.folder);
  return {folder, folder.root.filename().string(), document_of(folder, /*picture_bytes=*/0),
          evaluation_of(folder, flags.split)};
}

std::vector<double> values_of_curve(const Json& document, const char* name) {
  std::vector<double> values;
  for (const auto& point : document["curves"].value(name, Json::array())) values.push_back(point.at(1));
  return values;
}

/// Null of no values.
Json median(std::vector<double> values) {
  if (values.empty()) return nullptr;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}
Json highest(const std::vector<double>& values) {
  return values.empty() ? Json(nullptr) : Json(std::ranges::max(values));
}

Json outline_of_run(const ComparedRun& run) {
  const auto& document = run.document;
  Json outline = {{"run", run.name}};
  for (const char* key : {"workload", "stage", "state", "steps"}) outline[key] = document[key];
  outline["step_ms"] = median(values_of_curve(document, "perf/step_ms"));
  outline["samples_per_second"] = median(values_of_curve(document, "perf/samples_per_second"));
  outline["peak_gib"] = highest(values_of_curve(document, "mem/peak_gib"));
  outline["checkpoint"] = run.evaluation ? run.evaluation->figures.value("checkpoint", "") : "";
  return outline;
}

std::string shown(const Json& number, int decimals) {
  return number.is_number() ? fixed(number.get<double>(), decimals) : "not known";
}

Lines outline_lines(const Json& outlines) {
  Lines lines;
  for (const auto& one : outlines) {
    lines.add(text(one["run"].get<std::string>(), "  ", one["state"].get<std::string>(), ", step ",
                   one["steps"].get<int64_t>(), "  ", shown(one["step_ms"], 1), " ms a step, ",
                   shown(one["samples_per_second"], 2), " examples a second, ", shown(one["peak_gib"], 2),
                   " GiB"));
  }
  return lines;
}

/// {key: [value of each run]}; null where a run lacks it.
Json keys_that_differ(const std::vector<ComparedRun>& runs) {
  Json differing = Json::object();
  for (const auto& one : runs) {
    for (const auto& item : one.document["keys"].items()) {
      Json values = Json::array();
      for (const auto& run : runs) values.push_back(run.document["keys"].value(item.key(), Json(nullptr)));
      if (std::ranges::any_of(values, [&](const Json& value) { return value != values[0]; }))
        differing[item.key()] = values;
    }
  }
  return differing;
}

Lines key_lines(const Json& keys) {
  Lines lines(keys.empty() ? "no key differs" : "keys that differ");
  for (const auto& item : keys.items()) {
    std::vector<std::string> words;
    for (const auto& value : item.value())
      words.push_back(value.is_null() ? "not there" : value.get<std::string>());
    lines.add(text("  ", item.key(), "  ", join(words, " | ")));
  }
  return lines;
}

std::string line_of(const Verdict& pair) {
  const int decimals = std::max(std::abs(pair.value), std::abs(pair.baseline_value)) < 1 ? 4 : 3;
  auto line = text("  ", pair.figure);
  if (pair.better != Better::neither) line += " " + arrow_of(pair.better);
  line += text("  ", fixed(pair.baseline_value, decimals), " -> ", fixed(pair.value, decimals));
  if (!pair.unit.empty()) line += " " + pair.unit;
  line += text("  ", pair.difference() < 0 ? "" : "+", fixed(pair.difference(), decimals));
  if (!pair.interval) return line;
  line +=
      text(" [", fixed(pair.interval->first, decimals), ", ", fixed(pair.interval->second, decimals), "]");
  if (pair.holds_zero()) return line + "  not told apart";
  return pair.better == Better::neither ? line : line + (pair.is_better() ? "  better" : "  worse");
}

/// Each reason once, with the figures that have no interval for it.
Lines reason_lines(const std::vector<Verdict>& pairs) {
  std::map<std::string, std::vector<std::string>> figures;
  for (const auto& pair : pairs) {
    if (!pair.interval) figures[pair.no_interval].push_back(pair.figure);
  }
  Lines lines;
  for (const auto& [reason, names] : figures) {
    const auto whose = std::ssize(names) == std::ssize(pairs) ? "any figure" : join(names, ", ");
    lines.add(text("  no interval for ", whose, ": ", reason));
  }
  return lines;
}

/// Of each run beside the first.
void add_figures(const std::vector<ComparedRun>& runs, const CompareFlags& flags, Json& json, Lines& lines) {
  auto& all = json["figures"] = Json::array();
  for (const auto& run : runs) {
    if (run.evaluation) continue;
    lines.add(text(run.name, " has no figures of ", flags.split, ": larmor evaluate ",
                   run.folder.root.string(), " --split ", flags.split));
  }
  if (!runs.front().evaluation) return;
  for (size_t i = 1; i < runs.size(); ++i) {
    if (!runs[i].evaluation) continue;
    const auto pairs = paired_figures(*runs.front().evaluation, *runs[i].evaluation, runs.front().name);
    lines.add(text("figures of ", flags.split, ": ", runs.front().name, " -> ", runs[i].name,
                   ", differences with 95 % intervals over patients"));
    for (const auto& pair : pairs) lines.add(line_of(pair));
    lines.add(reason_lines(pairs));
    auto list = to_json(pairs);
    for (auto& one : list) one.erase("sentence");
    all.push_back({{"run", runs[i].name}, {"beside", runs.front().name}, {"figures", std::move(list)}});
  }
}

int compare(Program& program, const CompareFlags& flags) {
  split_named(flags.split);
  require(flags.runs.size() > 1, Exit::usage, "compare needs two runs",
          "name the second one behind the first");
  std::vector<ComparedRun> runs;
  for (const auto& word : flags.runs) runs.push_back(read_run(word, flags));
  Json json = {{"runs", Json::array()}};
  for (const auto& run : runs) json["runs"].push_back(outline_of_run(run));
  Lines lines = outline_lines(json["runs"]);
  json["keys"] = keys_that_differ(runs);
  lines.add(key_lines(json["keys"]));
  add_figures(runs, flags, json, lines);
  program.show(json, lines);
  return 0;
}

}  // namespace

void add_compare(Program& program) {
  const auto flags = std::make_shared<CompareFlags>();
  auto& verb =
      program.add_verb("compare", "in what runs differ: keys, speed, memory, and figures over the same cases",
                       [&program, flags] { return compare(program, *flags); });
  verb.add_option("RUN", flags->runs, "run folders or names of runs; all are held against the first")
      ->required();
  verb.add_option("--split", flags->split, "whose figures `evaluate` has kept: train, val or test");
  verb.add_option("--folder", flags->folder, "where runs that are named lie");
}

}  // namespace larmor::app
