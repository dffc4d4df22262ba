#include "larmor/run/earlier/earlier_run.h"

#include <algorithm>
#include <utility>

#include <torch/nn/module.h>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/state_parts.h"
#include "larmor/device/module_state.h"
#include "larmor/run/earlier/begun_run.h"
#include "larmor/task/networks.h"
#include "larmor/task/undrawn_task.h"

namespace larmor {

namespace {

[[noreturn]] void refuse_missing(const Workload& workload, const std::string& stage,
                                 const std::string& needed) {
  fail(Exit::usage,
       text("the stage ", stage, " of ", workload.name(), " needs a run of the stage ", needed, ", and from.",
            needed, " names none"),
       text("say from.", needed, "=RUN; larmor train ", workload.name(), " --stage ", needed, " makes one"));
}

void add_sources(EarlierSources& all, const std::string& needed, const EarlierSources& found) {
  for (const auto& [name, source] : found) {
    // Of what a run merely started from, nobody after it needs the weights.
    if (name != needed && !std::filesystem::exists(source.weights.path)) continue;
    const auto [place, is_new] = all.try_emplace(name, source);
    if (is_new || place->second.hash() == source.hash()) continue;
    fail(Exit::usage,
         text("the runs that `from` names build on two runs of the stage ", name, ": ", place->second.run,
              " (", place->second.checkpoint, ") and ", source.run, " (", source.checkpoint, ")"),
         text("leave from.", name, " out, and the one that a later run has kept is taken"));
  }
}

EarlierSources find_all(const Workload& workload, const RunConfig& config) {
  const auto& stage = config.stage;
  EarlierSources all;
  const auto& needs = workload.named(stage).needs;
  // What a run of this stage was built on comes with its weights, unless another is named.
  const auto begun = run_of_begun(config);
  auto of_begun = begun.empty() ? EarlierSources() : kept_earlier({begun});
  for (const auto& need : needs) {
    const auto named = config.from.find(need.stage);
    if (named == config.from.end() || named->second.empty()) continue;
    const auto kept = of_begun.find(need.stage);
    if (kept != of_begun.end() && kept->second.hash() == named->second) continue;
    add_sources(all, need.stage, find_earlier(workload, need.stage, named->second, config.run.folder));
  }
  all.merge(of_begun);
  for (const auto& need : needs) {
    if (!all.contains(need.stage)) refuse_missing(workload, stage, need.stage);
  }
  return all;
}

NamedTensors read_file(const EarlierSource::File& file) {
  std::string hash;
  auto tensors = read_tensors(file.path, nullptr, &hash);
  if (hash == file.sha256) return tensors;
  fail(Exit::checkpoint, text(file.path.string(), " is not what it was: its SHA-256 has changed"),
       "restore the file, or start the run again from the earlier one");
}

}  // namespace

std::unique_ptr<Task> EarlierRun::task() const {
  auto task = undrawn_task(*loaded.stage, loaded.config.config, Index{});
  if (is_in_doubles()) place(*task, c10::kCPU, Precision::fp64);  // whoever narrows them does so by place()
  load_state_dict(*task->objectives().front().network, weights);
  task->load(PartReader(task_tensors, task_values, text("the earlier run ", hash)), averaged);
  for (const auto& objective : task->objectives()) {
    objective.network->eval();
    for (auto& parameter : objective.network->parameters()) parameter.requires_grad_(false);
  }
  return task;
}

bool EarlierRun::is_in_doubles() const {
  return std::ranges::any_of(weights,
                             [](const auto& weight) { return weight.second.scalar_type() == at::kDouble; });
}

EarlierRuns::EarlierRuns(Workload workload, std::vector<Need> needs, Find find)
    : workload_(std::move(workload)), needs_(std::move(needs)), find_(std::move(find)) {}

const EarlierSources& EarlierRuns::sources() const {
  const std::lock_guard lock(mutex_);
  if (!found_) found_ = find_();
  return *found_;
}

const EarlierSource& EarlierRuns::source(const std::string& name) const {
  const auto& all = sources();
  const auto found = all.find(name);
  if (found == all.end()) {
    fail(Exit::checkpoint, text("the run has kept nothing of the stage ", name),
         "restore the run folder, or start the run again");
  }
  return found->second;
}

LoadedStage EarlierRuns::stage(const std::string& name) const {
  Sources files;
  files.files = {source(name).config};
  const auto before = std::make_shared<EarlierRuns>(workload_, workload_.named(name).needs,
                                                    [all = sources()] { return all; });
  auto loaded = load_stage(files, workload_, name, before, source(name).config.parent_path());
  loaded.stage->check(loaded.config.config);
  return loaded;
}

EarlierRun EarlierRuns::read(const std::string& name) const {
  const auto& from = source(name);
  if (from.weights.path.empty()) {
    fail(Exit::usage,
         text("a run of the stage ", name, " of ", workload_.name(), " is needed, and there is none"),
         text("larmor train ", workload_.name(), " --stage ", name, " makes one"));
  }
  if (!std::filesystem::exists(from.weights.path)) {
    fail(Exit::checkpoint,
         text("the weights of the stage ", name, " are not there any more: ", from.weights.path.string()),
         "a run that only starts from a stage keeps its weights until its own first checkpoint; start "
         "another run");
  }
  EarlierRun run;
  run.loaded = stage(name);
  run.weights = read_file(from.weights);
  if (!from.task.path.empty()) run.task_tensors = read_file(from.task);
  run.task_values = from.task_values;
  run.averaged = from.averaged;
  run.hash = from.hash();
  return run;
}

std::shared_ptr<const EarlierRuns> earlier_of_config(const Workload& workload, const RunConfig& config) {
  const auto& needs = workload.named(config.stage).needs;
  if (needs.empty()) return nullptr;
  return std::make_shared<EarlierRuns>(workload, needs, [=] { return find_all(workload, config); });
}

std::shared_ptr<const EarlierRuns> earlier_of_run(const Workload& workload, const std::string& stage,
                                                  const RunFolder& folder) {
  const auto& needs = workload.named(stage).needs;
  if (needs.empty()) return nullptr;
  return std::make_shared<EarlierRuns>(workload, needs, [folder] { return kept_earlier(folder); });
}

Json record_of_earlier(const LoadedConfig& asked, const EarlierRuns& runs) {
  Json all = Json::object();
  for (const auto& need : runs.needs()) {
    const auto& source = runs.sources().at(need.stage);
    all[need.stage] = {{"asked", asked.config.from.at(need.stage)},
                       {"hash", source.hash()},
                       {"run", source.run},
                       {"checkpoint", source.checkpoint}};
  }
  return all;
}

void freeze_earlier(LoadedConfig& asked, const EarlierRuns& runs, const Json& recorded) {
  std::map<std::string, std::string> hashes;
  try {
    for (const auto& need : runs.needs()) hashes[need.stage] = runs.sources().at(need.stage).hash();
  } catch (const Error&) {
    for (const auto& need : runs.needs()) {
      const auto start = recorded.find(need.stage);
      if (start == recorded.end() || start->at("asked") != asked.config.from.at(need.stage)) throw;
      hashes[need.stage] = start->at("hash").get<std::string>();
    }
  }
  for (const auto& [stage, hash] : hashes) asked.freeze_from(stage, hash);
}

}  // namespace larmor
