#include "larmor/task/workload.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "larmor/base/error.h"
#include "larmor/base/text.h"

namespace larmor {

namespace {

/// Whether each stage needs such ones alone as stand before it, and all can be named.
[[maybe_unused]] bool are_in_order(const std::vector<Workload::NamedStage>& stages) {
  for (auto stage = stages.begin(); stage != stages.end(); ++stage) {
    if (stage->name == "run" || stage->name == "optimizer") return false;  // keys of `from`
    for (const auto& need : stage->needs) {
      const auto is_needed = [&](const auto& earlier) { return earlier.name == need.stage; };
      if (std::none_of(stages.begin(), stage, is_needed)) return false;
    }
  }
  return true;
}

}  // namespace

Workload::Workload(std::string name, std::vector<NamedStage> stages, WorkloadGuide guide)
    : name_(std::move(name)), stages_(std::move(stages)), guide_(std::move(guide)) {
  assert(!stages_.empty());
  assert(are_in_order(stages_));
}

std::vector<std::string> Workload::stages() const {
  std::vector<std::string> names;
  for (const auto& stage : stages_) names.push_back(stage.name);
  return names;
}

const Workload::NamedStage& Workload::named(const std::string& stage) const {
  for (const auto& one : stages_) {
    if (one.name == stage) return one;
  }
  const auto near = nearest(stage, stages());
  fail(Exit::usage, text(name_, " has no stage ", stage),
       text(near.empty() ? "" : text("did you mean ", near, "? "), "its stages are: ", join(stages(), ", ")));
}

std::unique_ptr<Stage> Workload::stage(const std::string& name) const { return named(name).make(); }

}  // namespace larmor
