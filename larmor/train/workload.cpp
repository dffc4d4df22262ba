#include "larmor/train/workload.h"

#include <cassert>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

Workload::Workload(std::string name, std::vector<NamedStage> stages)
    : name_(std::move(name)), stages_(std::move(stages)) {
  assert(!stages_.empty());
}

std::vector<std::string> Workload::stages() const {
  std::vector<std::string> names;
  for (const auto& stage : stages_) names.push_back(stage.name);
  return names;
}

std::unique_ptr<Stage> Workload::stage(const std::string& name) const {
  for (const auto& stage : stages_) {
    if (stage.name == name) return stage.make();
  }
  fail(Exit::usage, text(name_, " has no stage ", name), text("its stages are: ", join(stages(), ", ")));
}

}  // namespace larmor
