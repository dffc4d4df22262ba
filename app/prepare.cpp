// `prepare`: the index of a workload's data, the integrity of every file, and what its stage prepares (by
// default every example in the prepared cache), before any run.
#include <algorithm>
#include <memory>
#include <vector>

#include <unistd.h>

#include "larmor/base/clock.h"
#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/data/cache/cache_filling.h"
#include "larmor/data/index/copies.h"
#include "larmor/data/index/file_list.h"
#include "larmor/data/index/index.h"
#include "larmor/device/device.h"
#include "larmor/hardware/hardware.h"
#include "larmor/judge/stoppable_work.h"
#include "larmor/launch/stop_signal.h"
#include "larmor/run/data_block.h"
#include "larmor/run/room.h"
#include "larmor/run/run_setup.h"
#include "larmor/task/stage.h"
#include "larmor/track/work_report.h"

#include "app/caches.h"
#include "app/program.h"
#include "app/say.h"
#include "app/show_draft.h"

namespace larmor::app {

namespace {

/// What is wanted in place of preparing.
struct PrepareFlags {
  bool cleans = false, lists = false, no_check = false;
};

constexpr Split all_splits[] = {Split::train, Split::val, Split::test};

Json splits_of(const Index& index) {
  Json splits;
  for (const auto split : all_splits) splits[to_text(split)] = index.of(split).size();
  return splits;
}

Json json_of(const Index& index) {
  return {{"cases", index.cases.size()},
          {"patients", index.patients()},
          {"splits", splits_of(index)},
          {"sha256", index.sha256()}};
}

/// Of a run that may yet be asked for otherwise: what cannot be planned here is left open.
WorkOfRun work_here(const LoadedStage& loaded, const Index& index, const Hardware& hardware,
                    std::vector<RoomNeed>& needs) {
  const RunConfig& config = loaded.config.config;
  try {
    const auto draft = draft_run(loaded, index, hardware);
    needs.push_back(room_of_checkpoints(config, draft.demand, draft.plan, folder_to_be(config)));
    return work_of_run(config, draft.demand, draft.plan);
  } catch (const Error&) {
    return {};
  }
}

/// Called now and then by work that leaves something behind where it is cut: from the first time on a signal
/// ends it here, by Error (stopped).
void look_for_stop() {
  watch_stop_signals();
  if (const auto words = asked_by_signal(); !words.empty())
    fail(Exit::stopped, words, "the same command goes on: what has been prepared is not prepared again");
}

/// A stage's tables may take minutes to write: they show how far they are once that is more than a moment.
Index find_cases(const LoadedStage& loaded, bool speaks, const Clock& clock) {
  constexpr double moment = 3;
  WorkReport report(STDERR_FILENO, moment, clock);
  return loaded.stage->index_shown(loaded.config.config, [&](const WorkProgress& progress) {
    if (speaks) report.show(progress);
    look_for_stop();
  });
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

int list(Program& program, const Index& index) {
  const Json rows = list_of_files(index);
  program.show(rows, lines_of_files(rows));
  return 0;
}

int prepare(Program& program, const PrepareFlags& flags) {
  const auto& workload = program.workload(program.arguments().target);
  // What is prepared lies in one folder, whatever the data.
  const auto loaded = flags.cleans ? program.load_to_show(workload) : program.load(workload);
  const auto& config = loaded.config.config;
  if (flags.cleans) return clean(program, config);
  const bool speaks = !program.arguments().quiet;
  const SystemClock clock;
  const auto index = find_cases(loaded, speaks, clock);
  if (flags.lists) return list(program, index);
  const auto hardware = detect_hardware();
  std::vector<RoomNeed> needs;
  auto work = work_here(loaded, index, hardware, needs);
  const auto filling = forecast_cache(*loaded.stage, config, index);
  if (filling) {
    work.cache_bytes = filling->needed_bytes;
    needs.push_back(room_of_cache(*filling));
  }
  const Json block = data_block(index, config, work);
  if (speaks) {
    say(lines_of_data(block));
    if (filling) say(filling->sentence(hardware.memory_limit_bytes));
  }
  for (const auto& warning : look_for_room(needs, flags.no_check)) say(warning);
  if (speaks) say("preparing every example …");
  const bool is_terminal = isatty(STDERR_FILENO) != 0;
  WorkReport report(STDERR_FILENO, /*patience=*/is_terminal ? 0 : 1, clock);
  const auto storage = make_storage();
  const bool on_gpu = config.parallel.device != "cpu" && cuda_is_usable();
  PrepareContext context{
      .storage = *storage,
      .device = on_gpu ? c10::Device(c10::kCUDA, 0) : c10::Device(c10::kCPU),
      .cores = hardware.usable_cores(),
      .progress =
          [&report, speaks](int64_t done, int64_t all) {
            if (speaks) report.show({.what = "prepared", .unit = "examples", .done = done, .all = all});
            look_for_stop();
          },
      .warnings = check_copies(index, states_of_files(index), config.data)};
  loaded.stage->prepare(config, index, context);
  look_for_stop();
  Json json{{"index", json_of(index)}, {"data", block}};
  for (const auto& warning : context.warnings) json["data"]["warnings"].push_back(warning);
  json["cache"] = nullptr;
  json.update(context.outputs);
  json["bad"] = to_json(context.bad);
  Lines lines(text(index.cases.size(), " cases, sha256 ", index.sha256()));
  for (const auto& line : context.lines) lines.add(line);
  if (!json["cache"].is_null()) lines.add(prepared_images_message(config.data, config.workload));
  for (const auto& warning : context.warnings) lines.add("warning: " + warning);
  for (const auto& file : context.bad) lines.add(bounded(text("  bad: ", file.path, ": ", file.reason)));
  if (context.bad.empty()) lines.add("every file is whole");
  program.show(json, lines);
  if (context.bad.empty()) return 0;
  fail(Exit::data,
       text(context.bad.size(), context.bad.size() == 1 ? " file" : " files", " below ",
            index.folder.string(), " cannot be used"),
       "repair or remove them, or leave them out with data.exclude");
}

}  // namespace

void add_prepare(Program& program) {
  const auto flags = std::make_shared<PrepareFlags>();
  auto& verb = program.add_workload_verb(
      "prepare", "index the data, check every file, fill the prepared cache",
      [&program, flags] { return prepare(program, *flags); }, {.stages = WorkloadVerb::Stages::each});
  auto* const clean =
      verb.add_flag("--clean", flags->cleans, "instead: empty the prepared cache of what nobody uses");
  verb.add_flag("--list", flags->lists,
                "instead: name every file below the folder, with its case or why it is none")
      ->excludes(clean);
  verb.add_flag("--no-check", flags->no_check, "do not refuse a disk that lacks room");
}

}  // namespace larmor::app
