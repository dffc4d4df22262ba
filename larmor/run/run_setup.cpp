#include "larmor/run/run_setup.h"

#include <algorithm>
#include <iterator>

#include "larmor/base/error.h"
#include "larmor/base/files/fenced_storage.h"
#include "larmor/base/files/private_folder.h"
#include "larmor/base/hash.h"
#include "larmor/base/log.h"
#include "larmor/base/process/process.h"
#include "larmor/base/text.h"
#include "larmor/base/version.h"
#include "larmor/data/index/copies.h"
#include "larmor/device/device.h"
#include "larmor/run/changed_run.h"
#include "larmor/run/data_block.h"
#include "larmor/run/data_check.h"
#include "larmor/run/earlier/begun_run.h"
#include "larmor/run/earlier/earlier_run.h"
#include "larmor/run/folder_claim.h"
#include "larmor/run/kept_files.h"
#include "larmor/run/machine.h"
#include "larmor/run/quarantine.h"
#include "larmor/run/room.h"
#include "larmor/run/run_index.h"
#include "larmor/run/run_paths.h"
#include "larmor/run/run_plan.h"
#include "larmor/track/tracker.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

// What was asked for, before the plan froze it.
std::string asked_sha256(const LoadedConfig& config) {
  return sha256(text(config.config.workload, " ", config.config.stage, " ", config.sha256()));
}

// The newest run of the same configuration that this job started before it was requeued or restarted; over,
// maybe. One job may start several, one after the other.
std::optional<RunFolder> run_of_job(const fs::path& runs, const std::string& job, const std::string& asked) {
  std::optional<RunFolder> newest;
  std::error_code error;
  for (fs::directory_iterator item(runs, error), end; !error && item != end; item.increment(error)) {
    const RunFolder folder{item->path()};
    if (fs::is_symlink(folder.root, error) || !folder.is_run()) continue;
    try {
      const auto environment = read_json(folder.environment());
      if (environment.value("job", "") != job || environment.value("asked", "") != asked) continue;
    } catch (const std::exception& broken) {
      log::debug(text(folder.root.string(), " is not looked at: ", broken.what()));
      continue;
    }
    // Names of runs begin with the time.
    if (!newest || newest->root.filename() < folder.root.filename()) newest = folder;
  }
  return newest;
}

// Where a new or an unfinished run of this config lives.
FolderClaim claim_folder(const LoadedConfig& config, const std::optional<RunFolder>& existing,
                         StartOptions& start, Storage& storage, const Clock& clock) {
  if (start.lock) return {existing.value(), std::move(*start.lock), storage};
  if (existing) return {*existing, storage};
  const fs::path runs = config.config.run.folder;
  const auto& name = config.config.run.name;
  if (name != "auto") return {RunFolder{runs / name}, storage};
  if (start.again && !start.job.empty()) {
    if (const auto folder = run_of_job(runs, start.job, asked_sha256(config))) return {*folder, storage};
  }
  return FolderClaim::of_new(runs, new_run_name(clock, config.config.workload, config.config.stage), storage);
}

// The index of an unfinished run is frozen.
Index index_of_run(const RunFolder& folder, const Stage& stage, const RunConfig& config,
                   std::vector<std::string>& notes) {
  const auto start = index_from_json(read_json(folder.index()));
  return index_of_resumed_run(start, stage.found(config), recorded_bad_files(folder.quarantine()), notes);
}

void note_bad_files(PreparedRun& run) {
  if (run.index.bad.empty()) return;
  run.notes.push_back(text(run.index.bad.size(), run.index.bad.size() == 1 ? " case" : " cases",
                           " cannot be used and will be passed over:", listing(run.index.bad)));
}

/// What environment.json has to say of --resume.
struct ResumeRecord {
  std::string asked;  // by the words that the job was started with
  fs::path origin;    // ResumePoint's
};

bool is_same_job(const StartOptions& start, const Json& environment) {
  return !start.job.empty() && environment.value("job", "") == start.job;
}

// A job that is started again has the words of its first start, and has done as they say already. A run that
// is new has nothing to go on from.
ResumeChoice choice_of(const StartOptions& start, const Json& environment) {
  using Kind = ResumeChoice::Kind;
  const bool is_new = environment.empty();
  if (is_new && start.resume.kind == Kind::automatic) return {.kind = Kind::never, .path = {}};
  const bool is_done = start.again && is_same_job(start, environment) &&
                       environment.value("resume", "") == to_text(start.resume);
  return is_done ? ResumeChoice{} : start.resume;
}

// Of a checkpoint that another run has saved: what of it does not count here, and why.
std::optional<std::string> origin_message(const CheckpointEntry& entry, const PreparedRun& run,
                                          const Workload& workload) {
  const auto same = compare_origin(entry, run.config.sha256(), run.index.sha256());
  if (same.both()) return std::nullopt;
  std::vector<std::string> differs;
  if (!same.config) {
    std::vector<std::string> keys;
    try {
      const RunFolder other{entry.folder.parent_path().parent_path()};
      keys = load_run_stage(other, workload).config.differing_keys(run.config);
    } catch (const std::exception&) {
      // A checkpoint may lie anywhere; what it was trained by is then known by its hash alone.
    }
    differs.push_back(keys.empty() ? "configuration" : text("configuration (", join(keys, ", "), ")"));
  }
  if (!same.index) differs.emplace_back("data or splits");
  return text(entry.folder.string(), " was saved with another ", join(differs, " and other "),
              ": its best value and its patience do not count here",
              same.index ? "" : "; what it was trained on may be among this run's validation cases");
}

// Files that cannot be read are the quarantine's: the next one will do.
void check_start(const Stage& stage, RunConfig config, const Index& index) {
  config.data.cache = "none";
  const auto dataset = stage.dataset(config, index, Split::train);
  constexpr int64_t tries = 3;
  for (int64_t example = 0; example < std::min(tries, dataset->size()); ++example) {
    Sample sample;
    try {
      sample = dataset->get({.seed = static_cast<uint64_t>(config.run.seed), .epoch = 0, .example = example});
    } catch (const Error& error) {
      if (error.exit() != Exit::data) throw;
      continue;
    }
    try {
      return stage.check_start(sample);
    } catch (const Error& error) {
      if (error.exit() != Exit::data) throw;
      throw error.within(dataset->name(example));
    }
  }
}

Json environment_of(const PreparedRun& run, const std::string& job, const std::string& asked,
                    const ResumeRecord& resume) {
  const RunConfig& config = run.config.config;
  Json json{{"workload", config.workload}, {"stage", config.stage}, {"program", program_name()}};
  json["build"] = build_description();
  json["host"] = host_name();
  if (!job.empty()) json["job"] = job;
  json["asked"] = asked;
  json["resume"] = resume.asked;
  if (!resume.origin.empty()) json["origin"] = resume.origin.string();
  if (!run.earlier.empty()) json["from"] = run.earlier;
  note_paths(json, run.folder, run.config);
  json["changes"] = to_json(run.changes);
  json["config"] = values_to_find(run.config);
  if (const auto steps = work_of_run(config, run.demand, run.plan).steps) json["steps"] = *steps;
  json["services"] = config.track.services;  // the run is the same wherever it is shown
  return json;
}

// A start that ended before its first event raised the fence all the same.
int64_t next_generation_of(const RunFolder& folder) {
  const auto fence = read_fence(folder.generation_file());
  const int64_t by_events = next_generation(folder.events());
  return fence ? std::max(by_events, *fence + 1) : by_events;
}

void open_folder(PreparedRun& run, Storage& storage) {
  for (auto& warning : check_private(run.folder.root)) run.notes.push_back(std::move(warning));
  for (const auto& folder :
       {run.folder.logs(), run.folder.tensorboard(), run.folder.pictures(), run.folder.checkpoints()}) {
    storage.create_folders(folder);
  }
  run.generation = next_generation_of(run.folder);
}

// In a folder of several users the link may be another's, which is no reason not to train.
void renew_latest(PreparedRun& run, Storage& storage) {
  const auto link = run.folder.root.parent_path() / "latest";
  try {
    storage.replace_link(link, run.folder.root.filename());
  } catch (const Error& error) {
    run.notes.push_back(text("the link ", link.string(), " does not lead to this run: ", error.message()));
  }
}

// config.yaml makes a folder a run, so it comes last: a disk that fills up on the way leaves none that is
// half there.
void write_down(const PreparedRun& run, const std::string& job, const std::string& asked,
                const ResumeRecord& resume, Storage& storage) {
  write_text(storage, run.folder.hardware(), to_text(to_json(run.hardware)));
  write_text(storage, run.folder.plan(), to_text(to_json(run.plan)));
  write_text(storage, run.folder.environment(), to_text(environment_of(run, job, asked, resume)));
  write_text(storage, run.folder.index(), to_text(to_json(run.index)));
  record_bad_files(storage, run.folder.quarantine(), run.index.bad);
  write_text(storage, run.folder.config(), run.config.to_yaml(/*with_origins=*/true));
}

// Where the run goes on from. What earlier starts have left is out of the way then, and their ranks kept out.
ResumeRecord resume(PreparedRun& run, const StartOptions& start, const Json& environment,
                    const Workload& workload, Storage& storage) {
  auto point = find_resume_point(run.folder, choice_of(start, environment), environment.value("origin", ""));
  // The fence is raised only now: a start that failed a check above must not invalidate running ranks.
  if (start.led) require_newest_start(run.folder, *start.led);
  raise_fence(storage, run.folder.generation_file(), run.generation);
  const bool lower_is_better = run.config.config.checkpoint.mode == "min";
  std::ranges::move(settle_resume_point(point, run.folder, run.generation, lower_is_better, storage),
                    std::back_inserter(run.notes));
  run.resume_from = std::move(point.entry);
  if (!point.origin.empty() && run.resume_from && !is_own_checkpoint(run.folder, *run.resume_from)) {
    if (const auto word = origin_message(*run.resume_from, run, workload)) run.notes.push_back(*word);
  }
  const bool goes_on = start.resume.kind == ResumeChoice::Kind::automatic && is_same_job(start, environment);
  return {.asked = goes_on ? environment.value("resume", "") : to_text(start.resume), .origin = point.origin};
}

// `hardware`: not this host alone. A rehearsal is for machines that are not here.
RunDraft draft_run_on(Index index, const Stage& stage, const RunConfig& config,
                      const std::optional<Hardware>& hardware, bool is_for_another_machine) {
  RunDraft draft;
  draft.hardware = hardware ? *hardware : hardware_for(config.run.folder);
  if (!is_for_another_machine && asks_what_bf16_gains(draft.hardware, config))
    draft.hardware.bf16_speedup = bf16_speedup_of_machine(machine_record());
  draft.index = std::move(index);
  draft.demand = stage.demand(config, draft.index);
  draft.plan = is_for_another_machine ? make_plan(draft.hardware, draft.demand, config)
                                      : plan_here(draft.hardware, draft.demand, config);
  return draft;
}

/// Freezes in `asked` what it says of earlier runs, and notes it. What a new run begins with.
std::optional<BegunFrom> settle_earlier(PreparedRun& run, const Workload& workload, LoadedStage& asked,
                                        const Json& environment) {
  const auto& earlier = asked.stage->earlier();
  const bool is_new = environment.empty();
  run.earlier = environment.value("from", Json::object());
  if (earlier != nullptr) {
    if (is_new) run.earlier = record_of_earlier(asked.config, *earlier);
    freeze_earlier(asked.config, *earlier, run.earlier);
  }
  auto begun = settle_begun(workload, asked, is_new, run.earlier);
  if (begun) run.notes.push_back(begun_message(*begun));
  return begun;
}

/// By whom the weights were trained that a run of this config begins with or builds on, as far as it names
/// them.
TrainedOn trained_before(const Stage& stage, const RunConfig& config) {
  TrainedOn all;
  if (const auto begun = run_of_begun(config); !begun.empty()) all = trained_on_by({begun});
  if (stage.earlier() == nullptr) return all;
  const auto is_named = [&](const Need& need) {
    const auto named = config.from.find(need.stage);
    return named != config.from.end() && !named->second.empty();
  };
  if (!std::ranges::all_of(stage.earlier()->needs(), is_named)) return all;
  for (const auto& [name, source] : stage.earlier()->sources()) all.add(source.trained_on);
  return all;
}

/// What the run needs beside its data lies in its folder from here on.
void keep_what_it_needs(const PreparedRun& run, const Stage& stage, const std::optional<BegunFrom>& begun,
                        Storage& storage) {
  const bool is_new = !fs::exists(run.folder.config());
  if (begun) keep_begun(*begun, run.folder, storage);
  if (run.resume_from) forget_begun(run.folder, storage);
  if (is_new) keep_files(stage.keeps(run.config.config, run.index), run.folder.root, storage);
  if (stage.earlier() == nullptr) return;
  if (is_new) keep_earlier(stage.earlier()->sources(), run.folder, storage);
  if (run.resume_from) forget_starting_weights(stage.earlier()->needs(), run.folder, storage);
}

void look_for_room(PreparedRun& run, const Stage& stage, const Index& index, const Demand& demand,
                   const Plan& plan, const StartOptions& start) {
  const auto needs = needs_of_run(stage, run.config.config, index, demand, plan, run.folder);
  std::ranges::move(look_for_room(needs, start.goes_on_without_room), std::back_inserter(run.notes));
}

void plan_new(PreparedRun& run, const LoadedStage& asked, const std::optional<BegunFrom>& begun,
              const StartOptions& start, Storage& storage) {
  const auto& stage = *asked.stage;
  const RunConfig& config = run.config.config;
  auto index = stage.index(config);
  if (start.cases) keep_few(index, *start.cases);
  if (begun) check_begun(*begun, asked, index);
  index.bad = check_data(index, config);
  check_start(stage, config, index);
  index.states = states_of_files(index);
  auto before = trained_before(stage, config);
  if (begun) before.add(begun->trained_on);
  leave_out_trained(index, before);
  std::ranges::move(check_copies(index, index.states, config.data), std::back_inserter(run.notes));
  auto draft =
      draft_run_on(std::move(index), stage, config, start.hardware, /*is_for_another_machine=*/false);
  look_for_room(run, stage, draft.index, draft.demand, draft.plan, start);
  open_folder(run, storage);
  run.index = std::move(draft.index);
  run.hardware = std::move(draft.hardware);
  run.demand = std::move(draft.demand);
  run.plan = std::move(draft.plan);
  freeze_plan(run.config, run.plan);
}

void plan_again(PreparedRun& run, const Stage& stage, const StartOptions& start,
                std::vector<RunChange> changes, Storage& storage) {
  const RunConfig& config = run.config.config;
  open_folder(run, storage);
  run.index = index_of_run(run.folder, stage, config, run.notes);
  run.index.bad = check_data(run.index, config);
  run.hardware = start.hardware ? *start.hardware : hardware_for(run.folder.root);
  const auto stored = plan_from_json(read_json(run.folder.plan()));
  const auto of_person = changes.size();
  run.demand = stage.demand(config, run.index);
  run.plan = plan_again(stored, run.hardware, run.demand, run.config, changes);
  look_for_room(run, stage, run.index, run.demand, run.plan, start);
  if (changes.size() > of_person) run.notes.push_back(changes.back().words);
  check_batch(config, run.plan);
  for (auto& change : changes) {
    change.generation = run.generation;
    run.changes.push_back(std::move(change));
  }
}

}  // namespace

RunDraft draft_run(const LoadedStage& loaded, const std::optional<Hardware>& hardware) {
  return draft_run(loaded, loaded.stage->index(loaded.config.config), hardware);
}

RunDraft draft_run(const LoadedStage& loaded, Index index, const std::optional<Hardware>& hardware) {
  leave_out_trained(index, trained_before(*loaded.stage, loaded.config.config));
  return draft_run_on(std::move(index), *loaded.stage, loaded.config.config, hardware, hardware.has_value());
}

void freeze_plan(LoadedConfig& config, const Plan& plan) {
  config.freeze("train.global_batch", text(plan.global_batch));
  config.freeze("train.micro_batch", text(plan.micro_batch));
  config.freeze("train.accumulation", text(plan.accumulation));
  config.freeze("train.precision", to_text(plan.precision));
  config.freeze("run.deterministic", text(plan.deterministic));
}

PreparedRun prepare_run(const Workload& workload, LoadedStage asked, const std::optional<RunFolder>& existing,
                        StartOptions start, Storage& storage, const Clock& clock) {
  PreparedRun run;
  auto claim = claim_folder(asked.config, existing, start, storage, clock);
  run.folder = claim.folder();
  const bool again = run.folder.is_run();
  const Json environment = again ? read_json(run.folder.environment()) : Json::object();
  const auto own_hash = asked_sha256(asked.config);
  const auto asked_hash = again ? environment.value("asked", "") : own_hash;
  const auto begun = settle_earlier(run, workload, asked, environment);
  std::vector<RunChange> changes;
  if (again) {
    auto changed = go_on_with(run.folder, workload, asked.config,
                              {.words = start.changes,
                               .accepts_config = start.accept_config,
                               .has_first_words = own_hash == asked_hash},
                              environment);
    asked = std::move(changed.loaded);
    changes = std::move(changed.changes);
    run.notes = std::move(changed.notes);
    run.changes = changes_of(environment);
  }
  run.config = asked.config;
  run.already_done = again && run.folder.is_done() && changes.empty();
  if (run.already_done) return run;
  claim.require_lock();
  const Stage& stage = *asked.stage;
  if (again) {
    plan_again(run, stage, start, std::move(changes), storage);
  } else {
    plan_new(run, asked, begun, start, storage);
  }
  note_bad_files(run);
  const auto record = resume(run, start, environment, workload, storage);
  keep_what_it_needs(run, stage, begun, storage);
  mark_going_on(storage, run.folder);
  write_down(run, start.job, asked_hash, record, storage);
  run.lock.emplace(claim.keep());
  renew_latest(run, storage);
  // An earlier start that was killed may have made the folder and not synced where it lies.
  storage.sync_folder(run.folder.root.parent_path());
  return run;
}

}  // namespace larmor
