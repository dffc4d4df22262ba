#include "larmor/run/earlier/earlier_source.h"

#include <algorithm>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/files/file.h"
#include "larmor/base/files/linked_file.h"
#include "larmor/base/files/removal.h"
#include "larmor/base/files/temporary_name.h"
#include "larmor/base/hash.h"
#include "larmor/base/text.h"
#include "larmor/checkpoint/checkpoint.h"
#include "larmor/run/earlier/checkpoint_reference.h"
#include "larmor/run/earlier/trained.h"
#include "larmor/run/kept_files.h"
#include "larmor/run/loaded_stage.h"

namespace larmor {

namespace fs = std::filesystem;

namespace {

constexpr const char* record_name = "earlier_run.json";
constexpr const char* config_name = "config.yaml";
constexpr const char* kept_weights = "model.safetensors";
constexpr const char* kept_task = "task.safetensors";
constexpr int64_t format = 1;

EarlierSource::File file_of(const CheckpointEntry& entry, const std::string& name) {
  auto hash = hash_in(entry, name);
  if (hash.empty()) return {};
  return {.path = entry.folder / name, .sha256 = std::move(hash)};
}

void find_kept_files(EarlierSource& source) {
  for (const auto& [name, file] : kept_files(source.config.parent_path()))
    source.kept[name] = {.path = file.path, .sha256 = file.sha256};
}

Json to_json(const EarlierSource& source) {
  Json json;
  json["format"] = format;
  json["stage"] = source.stage;
  json["run"] = source.run;
  json["checkpoint"] = source.checkpoint;
  json["averaged"] = source.averaged;
  json["config_sha256"] = source.config_sha256;
  json["weights_sha256"] = source.weights.sha256;
  json["task_sha256"] = source.task.sha256;
  json["task"] = source.task_values;
  json["hash"] = source.hash();
  return json;
}

EarlierSource kept_source(const fs::path& folder) {
  const auto json = read_json(folder / record_name);
  const auto of = [&](const char* key) { return json.at(key).get<std::string>(); };
  EarlierSource source;
  source.stage = of("stage");
  source.run = of("run");
  source.checkpoint = of("checkpoint");
  source.averaged = json.at("averaged").get<bool>();
  source.config = folder / config_name;
  source.config_sha256 = of("config_sha256");
  source.weights = {.path = folder / kept_weights, .sha256 = of("weights_sha256")};
  source.task = {.path = of("task_sha256").empty() ? fs::path() : folder / kept_task,
                 .sha256 = of("task_sha256")};
  source.task_values = json.at("task");
  source.trained_on = kept_trained_on(folder);
  find_kept_files(source);
  if (source.hash() != of("hash") || folder.filename() != source.stage) {
    fail(Exit::checkpoint, text((folder / record_name).string(), " is not what was written there"),
         "restore the run folder, or start the run again");
  }
  return source;
}

}  // namespace

std::string EarlierSource::hash() const {
  std::string words = text("stage ", stage, "\nconfig ", config_sha256, "\nweights ", weights.sha256,
                           "\ntask ", task.sha256, " ", task_values.dump());
  for (const auto& [name, file] : kept) words += text("\nkept ", name, " ", file.sha256);
  return "sha256:" + sha256(words);
}

EarlierSources find_earlier(const Workload& workload, const std::string& stage, const std::string& words,
                            const fs::path& runs) {
  const auto key = "from." + stage;
  const auto reference = find_reference(key, words, runs);
  const auto& folder = reference.run;
  check_stage(key, folder, workload, stage);
  const auto loaded = load_run_stage(folder, workload);
  const bool lower_is_better = loaded.config.config.checkpoint.mode == "min";
  const auto entry = require_whole(key, reference, choose(key, reference, lower_is_better).entry);
  EarlierSource source;
  source.stage = stage;
  source.run = fs::weakly_canonical(folder.root).string();
  source.checkpoint = entry.folder.filename().string();
  source.config = folder.config();
  source.config_sha256 = loaded.config.sha256();
  source.averaged = takes_average(WeightChoice::of_stage, *loaded.stage, entry);
  source.weights = file_of(entry, source.averaged ? "ema.safetensors" : "model.safetensors");
  source.task = file_of(entry, "task.safetensors");
  source.task_values = read_checkpoint_state(entry).value("task", Json());
  source.trained_on = trained_on_by(folder);
  find_kept_files(source);
  auto all = kept_earlier(folder);
  all[stage] = std::move(source);
  return all;
}

EarlierSources kept_earlier(const RunFolder& folder) {
  EarlierSources all;
  std::error_code absent;
  for (const auto& item : fs::directory_iterator(folder.from(), absent)) {
    if (!fs::exists(item.path() / record_name)) continue;
    auto source = kept_source(item.path());
    auto name = source.stage;
    all.emplace(std::move(name), std::move(source));
  }
  return all;
}

namespace {

/// What a start that was killed has left.
void remove_earlier(const RunFolder& folder, Storage& storage) {
  const std::set<std::string> names = {record_name, config_name, kept_weights, kept_task, trained_on_name};
  std::error_code absent;
  std::vector<fs::path> places;
  for (const auto& item : fs::directory_iterator(folder.from(), absent)) {
    const bool is_ours = std::any_of(names.begin(), names.end(),
                                     [&](const std::string& name) { return fs::exists(item.path() / name); });
    if (is_ours && !item.is_symlink()) places.push_back(item.path());
  }
  for (const fs::path& place : places) {
    remove_kept_files(place, storage);
    remove_own(storage, place, [&](const fs::path& within) {
      return names.contains(within.string()) || is_temporary_name(within.string());
    });
  }
}

}  // namespace

void keep_earlier(const EarlierSources& sources, const RunFolder& folder, Storage& storage) {
  remove_earlier(folder, storage);
  for (const auto& [stage, source] : sources) {
    const auto place = folder.from() / stage;
    storage.create_folders(place);
    // Of what a run merely started from, a run that begins with that one's weights gets none.
    if (fs::exists(source.weights.path)) link_or_copy(storage, source.weights.path, place / kept_weights);
    if (fs::exists(source.task.path)) link_or_copy(storage, source.task.path, place / kept_task);
    write_text(storage, place / config_name, read_text(source.config));
    std::map<std::string, std::string> contents;
    for (const auto& [name, file] : source.kept) contents[name] = read_text(file.path);
    keep_files(contents, place, storage);
    keep_trained_on(source.trained_on, place, storage);
    write_text(storage, place / record_name, to_text(to_json(source)));  // syncs the folder
  }
}

void forget_starting_weights(const std::vector<Need>& needs, const RunFolder& folder, Storage& storage) {
  for (const auto& need : needs) {
    if (need.use != Need::Use::starts_from) continue;
    for (const char* name : {kept_weights, kept_task})
      remove_file(storage, folder.from() / need.stage / name);
  }
}

}  // namespace larmor
