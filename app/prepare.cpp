// `prepare`: the index of a workload's data, the integrity of every file, and every example in the prepared
// cache, before any run.
#include <algorithm>
#include <memory>
#include <vector>

#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/cache_filling.h"
#include "larmor/data/index/index.h"
#include "larmor/data/volume_dataset.h"
#include "larmor/hardware/hardware.h"
#include "larmor/track/terminal.h"

#include "app/program.h"
#include "app/say.h"

namespace larmor::app {

namespace {

constexpr Split all_splits[] = {Split::train, Split::val, Split::test};

Json splits_of(const Index& index) {
  Json splits;
  for (const auto split : all_splits) splits[to_text(split)] = index.of(split).size();
  return splits;
}

/// "prepared 120 of 400, 12.3 examples/s, ETA 22 s": on a terminal a line that is rewritten, elsewhere one
/// now and then.
class FillingReport {
 public:
  explicit FillingReport(bool speaks)
      : speaks_(speaks), stands_(isatty(STDERR_FILENO) != 0), terminal_(STDERR_FILENO, /*color=*/false) {}

  void show(int64_t done, int64_t all) {
    const double seconds = clock_.steady_seconds() - began_;
    if (!speaks_ || done == 0 || (!stands_ && seconds < next_)) return;
    const double rate = static_cast<double>(done) / std::max(seconds, 1e-3);
    const auto words = text("prepared ", done, " of ", all, ", ", fixed(rate, rate < 10 ? 2 : 0),
                            " examples/s, ETA ", human_seconds(static_cast<double>(all - done) / rate));
    if (stands_) {
      terminal_.standing_line(words.substr(0, static_cast<size_t>(std::max(terminal_.width() - 1, 1))));
      return;
    }
    terminal_.line(words);
    next_ = seconds + seconds_between_lines;
  }

 private:
  static constexpr double seconds_between_lines = 10;

  const bool speaks_, stands_;
  Terminal terminal_;
  SystemClock clock_;
  const double began_ = clock_.steady_seconds();
  double next_ = 1;
};

/// Each file that cannot be read by its own name; an example whose files are whole and that its chain cannot
/// take, by the example's.
std::vector<BadFile> bad_files(const Index& index, const std::vector<BadFile>& examples) {
  Index suspects;
  suspects.kind = index.kind;
  suspects.folder = index.folder;
  std::vector<BadFile> bad;
  for (const auto& example : examples) {
    const auto found = std::find_if(index.cases.begin(), index.cases.end(),
                                    [&](const Case& one) { return one.name() == example.path; });
    Index one = suspects;
    if (found != index.cases.end()) one.cases.push_back(*found);
    const auto files = check_files(one, Depth::full);
    if (files.empty()) bad.push_back(example);
    for (const auto& file : files) {
      if (std::find(bad.begin(), bad.end(), file) == bad.end()) bad.push_back(file);
    }
  }
  std::sort(bad.begin(), bad.end(), [](const BadFile& a, const BadFile& b) { return a.path < b.path; });
  return bad;
}

struct Prepared {
  Json cache;
  std::vector<BadFile> bad;
  std::string words;
};

Prepared fill(const Stage& stage, RunConfig config, const Index& index, bool speaks) {
  const bool uses_it = config.data.cache != "none";
  config.data.cache = "full";
  std::vector<std::unique_ptr<Dataset>> owned;
  std::vector<const PreparableDataset*> datasets;
  for (const auto split : all_splits) {
    owned.push_back(stage.dataset(config, index, split));
    const auto* const dataset = dynamic_cast<const PreparableDataset*>(owned.back().get());
    if (dataset != nullptr && dataset->size() > 0) datasets.push_back(dataset);
  }
  if (datasets.empty() || index.is_invented()) return {nullptr, check_files(index, Depth::full), ""};
  const auto hardware = detect_hardware();
  const auto forecast = forecast_cache(datasets);
  if (speaks) say(forecast.sentence(hardware.memory_limit_bytes));
  FillingReport report(speaks);
  const auto filling = fill_cache(datasets, hardware.usable_cores(),
                                  [&report](int64_t done, int64_t all) { report.show(done, all); });
  Json cache;
  cache["folder"] = filling.folder.string();
  cache["bytes"] = filling.bytes;
  auto words = text("cache: ", human_bytes(filling.bytes), " in ", filling.folder.string(), ", ",
                    filling.kept, filling.kept == 1 ? " case" : " cases");
  if (filling.without_room > 0) words += text(", ", filling.without_room, " without room");
  if (!uses_it) words += "; training maps it with data.cache=full";
  return {cache, bad_files(index, filling.bad), words};
}

int clean(Program& program, const RunConfig& config) {
  const auto cleaning = clean_cache(config.data);
  Json json;
  json["cache"] = {{"folder", cleaning.folder.string()},
                   {"removed", cleaning.removed},
                   {"bytes", cleaning.bytes},
                   {"in_use", cleaning.in_use}};
  auto words = text("removed ", cleaning.removed, cleaning.removed == 1 ? " entry, " : " entries, ",
                    human_bytes(cleaning.bytes), ", from ", cleaning.folder.string());
  if (cleaning.in_use > 0) words += text("; ", cleaning.in_use, " are in use and stay");
  program.show(json, Lines(words));
  return 0;
}

int prepare(Program& program, bool cleans) {
  const auto loaded = program.load(program.workload(program.words().target));
  const auto& config = loaded.config.config;
  if (cleans) return clean(program, config);
  const auto index = loaded.stage->index(config);
  const bool speaks = !program.words().quiet;
  if (speaks) say(Lines(index.patients_by).add("preparing every example …"));
  const auto prepared = fill(*loaded.stage, config, index, speaks);
  Json json;
  json["index"]["cases"] = index.cases.size();
  json["index"]["patients"] = index.patients();
  json["index"]["splits"] = splits_of(index);
  json["index"]["sha256"] = index.sha256();
  json["cache"] = prepared.cache;
  json["bad"] = to_json(prepared.bad);
  Lines lines(text(index.cases.size(), " cases, sha256 ", index.sha256()));
  if (!prepared.words.empty()) lines.add(prepared.words);
  for (const auto& file : prepared.bad) lines.add(bounded(text("  bad: ", file.path, ": ", file.reason)));
  if (prepared.bad.empty()) lines.add("every file is whole");
  program.show(json, lines);
  if (prepared.bad.empty()) return 0;
  fail(Exit::data,
       text(prepared.bad.size(), prepared.bad.size() == 1 ? " file" : " files", " below ",
            index.folder.string(), " cannot be used"),
       "repair or remove them, or leave them out with data.exclude");
}

}  // namespace

void add_prepare(Program& program) {
  const auto cleans = std::make_shared<bool>(false);
  auto& verb =
      program.add_workload_verb("prepare", "index the data, check every file, fill the prepared cache",
                                [&program, cleans] { return prepare(program, *cleans); });
  verb.add_flag("--clean", *cleans, "instead: empty the prepared cache of what nobody uses");
}

}  // namespace larmor::app
