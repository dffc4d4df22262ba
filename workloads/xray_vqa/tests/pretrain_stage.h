// The stage `pretrain` as the shipped configs have it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "larmor/run/loaded_stage.h"

#include "workloads/xray_vqa/workload.h"

namespace larmor::xray_vqa {

inline LoadedStage load_pretrain(const std::string& config, const std::vector<std::string>& overrides) {
  const char* const source = std::getenv("LARMOR_SOURCE");
  const auto root = source != nullptr ? std::filesystem::path(source) : std::filesystem::current_path();
  const auto folder = root / "workloads" / "xray_vqa" / "pretrain" / "configs";
  Sources sources;
  sources.files = {folder / "default.yaml"};
  if (config != "default") sources.files.push_back(folder / (config + ".yaml"));
  sources.overrides = overrides;
  return load_stage(sources, make_workload(), "pretrain");
}

}  // namespace larmor::xray_vqa
