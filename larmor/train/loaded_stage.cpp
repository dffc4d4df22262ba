#include "larmor/train/loaded_stage.h"

#include <utility>

#include "larmor/base/json.h"

namespace larmor {

LoadedStage load_stage(const Sources& sources, const Workload& workload, const std::string& stage) {
  auto made = workload.stage(stage);
  auto config = load_config(sources, workload.name(), stage, made->fields());
  return {.stage = std::move(made), .config = std::move(config)};
}

std::string workload_of(const RunFolder& folder) {
  return read_json(folder.environment()).at("workload").get<std::string>();
}

LoadedStage load_run_stage(const RunFolder& folder, const Workload& workload,
                           const std::vector<std::string>& overrides) {
  Sources sources;
  sources.files = {folder.config()};
  sources.overrides = overrides;
  auto loaded = load_stage(sources, workload, read_json(folder.environment()).at("stage").get<std::string>());
  loaded.stage->check(loaded.config.config);
  return loaded;
}

}  // namespace larmor
