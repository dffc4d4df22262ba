#include "app/flags/target_names.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

#include "app/program.h"

namespace larmor::app {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> configs_of(const Workload& workload) {
  std::vector<std::string> all;
  for (const auto& stage : workload.stages()) {
    for (auto& name : shipped_configs(workload.name(), stage)) all.push_back(std::move(name));
  }
  return all;
}

/// What a word behind a workload may have been meant for; "" where nobody knows.
std::string meant_beside(const Workload& workload, const std::string& word) {
  std::error_code absent;
  const auto ending = fs::path(word).extension();
  if (fs::is_directory(word, absent)) return text("data.folder=", word);
  if (fs::exists(word, absent)) {
    const bool is_config = ending == ".yaml" || ending == ".yml" || ending == ".json";
    return is_config ? text("-c ", word) : text("data.list=", word);
  }
  if (const auto stage = nearest(word, workload.stages()); !stage.empty()) return "--stage " + stage;
  const auto config = nearest(word, configs_of(workload));
  return config.empty() ? "" : "-c " + config;
}

}  // namespace

TargetNames target_names(const std::vector<Workload>& workloads) {
  TargetNames names;
  for (const auto& workload : workloads) {
    for (const auto& stage : workload.stages())
      names.try_emplace(stage, text(workload.name(), " --stage ", stage));
  }
  for (const auto& workload : workloads) names[workload.name()] = workload.name();
  return names;
}

void refuse_target(const std::string& name, const std::vector<Workload>& workloads) {
  std::vector<std::string> all, names;
  for (const auto& workload : workloads) names.push_back(workload.name());
  const bool is_key = name.find('.') != std::string::npos;
  const auto known =
      text(is_key ? "name a workload before it; " : "", "the workloads are: ", join(names, ", "));
  if (name.empty()) fail(Exit::usage, "no workload was named", known);
  const auto meant = target_names(workloads);
  for (const auto& [word, said] : meant) all.push_back(word);
  const auto near = nearest(name, all);
  fail(Exit::usage, text("there is no workload ", name),
       near.empty() ? known : text("did you mean ", meant.at(near), "?"));
}

void refuse_second_target(const std::string& first, const std::string& second,
                          const std::vector<Workload>& workloads) {
  const auto title = text("two targets: ", first, " and ", second);
  const auto found = std::ranges::find(workloads, first, &Workload::name);
  const auto meant = found == workloads.end() ? std::string() : meant_beside(*found, second);
  fail(Exit::usage, title,
       meant.empty() ? "give one workload or run, then key=value" : text("did you mean ", meant, "?"));
}

}  // namespace larmor::app
