// What this machine and this job offer, whether they will do, and what Larmor would choose.
#include <algorithm>
#include <memory>

#include "larmor/base/error.h"
#include "larmor/base/files/disk_room.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/temporary_name.h"
#include "larmor/base/text.h"
#include "larmor/codec/decoder_pool.h"
#include "larmor/device/device.h"
#include "larmor/plan/guide_report.h"
#include "larmor/plan/plan.h"
#include "larmor/run/machine.h"
#include "larmor/run/run_setup.h"
#include "larmor/run/supposed_data.h"

#include "app/build_words.h"
#include "app/caches.h"
#include "app/program.h"

namespace larmor::app {

namespace {

struct Check {
  std::string name;
  bool ok = true;
  std::string message;
};

constexpr uint64_t gib = uint64_t{1} << 30;

Check check_gpus(const Hardware& hardware) {
  if (hardware.gpus.empty())
    return {"gpu", true,
            text("no GPU: training runs on the CPU",
                 hardware.no_gpus.empty() ? "" : text(" (", hardware.no_gpus, ")"))};
  const auto count = hardware.gpus.size();
  const auto gpus = text(count, count == 1 ? " GPU" : " GPUs");
  if (const auto obstacle = cuda_obstacle())
    return {"gpu", false,
            text(gpus, count == 1 ? " is" : " are", " here, but ", obstacle->why, ": ", obstacle->remedy)};
  std::vector<std::string> barred;
  for (const Gpu& gpu : hardware.gpus) {
    if (const auto obstacle = obstacle_of(gpu))
      barred.push_back(text(sentence_on(gpu, *obstacle), "; ", obstacle->remedy));
  }
  if (barred.empty()) return {"gpu", true, gpus + " can be used"};
  return {"gpu", barred.size() < count,
          text(count - barred.size(), " of ", gpus, " can be used: ", join(barred, "; "))};
}

Check check_memory(const Hardware& hardware) {
  const bool ok = hardware.memory_available_bytes >= 2 * gib;
  return {"memory", ok,
          text(human_bytes(hardware.memory_available_bytes), " available",
               ok ? "" : "; at least 2 GiB are needed")};
}

Check check_disk(const Hardware& hardware) {
  const bool ok = hardware.disk_free_bytes >= gib;
  return {"disk", ok,
          text(human_bytes(hardware.disk_free_bytes), " free for run folders",
               ok ? "" : "; at least 1 GiB is needed")};
}

/// Makes no folder: where there is none for runs yet, a start makes it in the nearest one above that is
/// there, and another program may be about to.
Check check_writable(Storage& storage, const std::string& folder) {
  try {
    const auto probe = temporary_beside(nearest_existing(folder) / "larmor-doctor");
    write_text(storage, probe, "");
    storage.remove_all(probe);
    return {"run folder", true, text(folder, " can be written")};
  } catch (const Error& error) {
    return {"run folder", false, error.message()};
  }
}

/// One that is absent or does not start is a broken installation.
Check check_decoder() {
  try {
    return {"decoder", true, describe_decoder()};
  } catch (const Error& error) {
    return {"decoder", false, text(error.message(), ": ", error.hint())};
  }
}

Json settings_of(const Plan& plan) {
  Json settings;
  settings["device"] = to_text(plan.device);
  settings["ranks"] = plan.world_size();
  settings["precision"] = to_text(plan.precision);
  settings["strategy"] = to_text(plan.strategy);
  settings["threads_per_rank"] = plan.threads_per_rank;
  settings["loader_threads"] = plan.loader_threads;
  return settings;
}

Json limits_of(const Hardware& hardware) {
  Json limits;
  limits["cores"] = hardware.usable_cores();
  limits["memory_bytes"] = hardware.memory_limit_bytes;
  limits["shm_bytes"] = hardware.shm_bytes;
  limits["disk_free_bytes"] = hardware.disk_free_bytes;
  limits["notes"] = hardware.notes;
  return limits;
}

/// What the stage that was named would be trained with here, in the layout of the guide.
int report_on_stage(Program& program) {
  const auto loaded = program.load_to_show(program.workload(program.arguments().target));
  const auto draft = draft_run_to_show(loaded);
  Json json;
  json["hardware"] = to_json(draft.hardware);
  json["plan"] = to_json(draft.plan);
  program.show(json, Lines().add_text(guide_report(draft.hardware, draft.plan)));
  return 0;
}

/// The place of ranks is the machine's; other words of a config are a workload's.
RunConfig config_of_machine(const VerbArguments& words) {
  const auto place = words.place.keys();
  const auto is_of_place = [&](const std::string& word) {
    return std::ranges::find(place, word) != place.end();
  };
  const auto other = std::ranges::find_if_not(words.overrides, is_of_place);
  if (other != words.overrides.end() || !words.configs.empty() || !words.stage.empty()) {
    const auto& word = other != words.overrides.end() ? *other
                       : !words.configs.empty()       ? words.configs.front()
                                                      : words.stage;
    fail(Exit::usage, text(word, ": no workload was named, whose config it would be a word of"),
         "say larmor doctor WORKLOAD; larmor list names them");
  }
  RunConfig config;
  if (!words.place.ranks.empty()) config.parallel.ranks = words.place.ranks;
  if (!words.place.device.empty()) config.parallel.device = words.place.device;
  config.parallel.threads = words.place.threads_of_a_rank();
  return config;
}

/// What starts keep of this machine, from now on.
void measure_anew() {
  const auto record = machine_record();
  record.forget();
  if (detect_machine().computes_bf16 == true) bf16_speedup_of_machine(record);
}

/// With what is kept of it.
Hardware known_machine() {
  Hardware hardware = detect_machine();
  if (const auto kept = machine_record().kept(bf16_measure)) hardware.bf16_speedup = kept->value;
  return hardware;
}

int doctor(Program& program, bool measures) {
  if (measures) measure_anew();
  if (!program.arguments().target.empty()) return report_on_stage(program);
  const auto config = config_of_machine(program.arguments());
  const auto hardware = known_machine();
  // The settings of a small network: what is chosen from the machine alone.
  Demand demand;
  demand.training_examples = 1000;
  demand.parameters = 1'000'000;
  auto usable = hardware;
  if (!cuda_is_usable()) usable.gpus.clear();
  const auto plan = make_plan(usable, demand, config);
  const std::vector<Check> checks{check_gpus(hardware), check_memory(hardware), check_disk(hardware),
                                  check_writable(program.storage(), RunSection{}.folder), check_decoder()};
  bool fit = true;
  Json json;
  json["hardware"] = to_json(hardware);
  json["versions"] = versions_of(hardware);
  json["limits"] = limits_of(hardware);
  json["checks"] = Json::array();
  Lines lines;
  lines.add(build_line()).add_text(describe(hardware)).add("");
  for (const auto& check : checks) {
    Json row;
    row["name"] = check.name;
    row["ok"] = check.ok;
    row["message"] = check.message;
    json["checks"].push_back(row);
    lines.add(text(check.ok ? "  ok    " : "  FAIL  ", check.name, ": ", check.message));
    fit = fit && check.ok;
  }
  const auto caches = cache_reports();
  json["caches"] = to_json(caches);
  lines.add("").add(lines_of(caches));
  json["settings"] = settings_of(plan);
  lines.add("").add("settings that larmor would choose");
  for (const auto& [name, value] : json["settings"].items()) {
    lines.add(text("  ", name, std::string(18 - std::min<size_t>(name.size(), 17), ' '),
                   value.is_string() ? value.get<std::string>() : value.dump()));
  }
  program.show(json, lines);
  return static_cast<int>(fit ? Exit::done : Exit::environment);
}

}  // namespace

void add_doctor(Program& program) {
  const auto measures = std::make_shared<bool>(false);
  auto& verb = program.add_workload_verb(
      "doctor",
      "what this machine offers, and whether it will do; of a workload, what it would be "
      "trained with, as its guide shows it",
      [&program, measures] { return doctor(program, *measures); }, {.stages = WorkloadVerb::Stages::each});
  verb.add_flag(
      "--measure", *measures,
      "measure anew what starts keep of this machine: what bf16 gains on its CPU, how many cores are free");
}

}  // namespace larmor::app
