#include "larmor/run/loaded_stage.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/hash.h"
#include "larmor/base/json.h"
#include "larmor/base/text.h"
#include "larmor/run/earlier/begun_run.h"
#include "larmor/run/earlier/earlier_run.h"
#include "larmor/run/kept_files.h"
#include "larmor/run/run_change.h"
#include "larmor/run/run_paths.h"

namespace larmor {

namespace {

std::string word_of(const RunFolder& folder, const char* key) {
  return read_json(folder.environment()).at(key).get<std::string>();
}

/// What a run has kept is part of the run.
void refuse_other_earlier(const std::vector<std::string>& overrides) {
  for (const auto& word : overrides) {
    if (!word.starts_with("from.")) continue;
    fail(Exit::usage, text(word, ": a run keeps what it was started with of earlier stages"),
         "leave it out, or start another run");
  }
}

/// The value of a key as it was said.
std::string value_of(const LoadedConfig& config, const std::string& key) {
  for (const Origin& origin : config.origins)
    if (origin.key == key) return origin.value;
  return "";
}

bool is_file_of(const KeptFile& kept, const std::string& path) {
  return std::filesystem::is_regular_file(path) && sha256_of_file(path) == kept.sha256;
}

/// A file that the run has kept counts, and not what `data.<its name>` names later: so that may name the same
/// file again, wherever it lies, but no other one.
void refuse_other_kept(const RunFolder& folder, const Workload& workload,
                       const std::vector<std::string>& overrides, const LoadedConfig& config) {
  for (const auto& [name, kept] : kept_files(folder.root)) {
    const std::string key = "data." + name;
    for (const auto& word : overrides) {
      if (!word.starts_with(key + "=") || is_file_of(kept, word.substr(key.size() + 1))) continue;
      const auto stored = load_stage({.files = {folder.config()}, .environment = {}, .overrides = {}},
                                     workload, stage_of(folder));
      if (value_of(config, key) == value_of(stored.config, key)) continue;
      fail(Exit::usage, text(word, ": the run keeps what it was trained with, and this is another"),
           "leave it out, or start another run");
    }
  }
}

}  // namespace

WorkloadFields fields_of(const Workload& workload, const std::string& name, Stage& stage) {
  auto fields = stage.fields();
  for (const auto& need : workload.named(name).needs) fields.needs.push_back(need.stage);
  fields.foreign_flags = workload.guide().flags;
  fields.guide_files = workload.guide().files;
  return fields;
}

LoadedStage load_stage(const Sources& sources, const Workload& workload, const std::string& stage,
                       std::shared_ptr<const EarlierRuns> earlier, const std::filesystem::path& place) {
  auto made = workload.stage(stage);
  Sources all = sources;
  all.stages = workload.stages();
  auto config = load_config(all, workload.name(), stage, fields_of(workload, stage, *made));
  made->build_on(earlier ? std::move(earlier) : earlier_of_config(workload, config.config));
  // Weights go with the vocabulary, say, that they were trained with.
  const auto keeper = place.empty() ? run_of_begun(config.config) : place;
  if (!keeper.empty()) {
    std::map<std::string, std::filesystem::path> files;
    for (const auto& [name, file] : kept_files(keeper)) files.emplace(name, file.path);
    made->read_from(std::move(files));
  }
  return {.stage = std::move(made), .config = std::move(config)};
}

std::string workload_of(const RunFolder& folder) { return word_of(folder, "workload"); }

std::string stage_of(const RunFolder& folder) { return word_of(folder, "stage"); }

LoadedStage load_run_stage(const RunFolder& folder, const Workload& workload,
                           const std::vector<std::string>& overrides) {
  refuse_other_earlier(overrides);
  const auto environment = read_json(folder.environment());
  refuse_cut_config(folder, environment);
  Sources sources;
  sources.find_path = find_paths(folder, environment, overrides);
  sources.files = {folder.config()};
  sources.overrides = overrides;
  const auto stage = stage_of(folder);
  auto loaded = load_stage(sources, workload, stage, earlier_of_run(workload, stage, folder), folder.root);
  refuse_other_kept(folder, workload, overrides, loaded.config);
  loaded.stage->check(loaded.config.config);
  return loaded;
}

}  // namespace larmor
