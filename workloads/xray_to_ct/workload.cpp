#include "workloads/xray_to_ct/workload.h"

#include <memory>

#include "workloads/xray_to_ct/guide.h"
#include "workloads/xray_to_ct/stage/cascade_stage.h"

namespace larmor::xray_to_ct {
namespace {

Workload::NamedStage cascade_stage(int64_t number) {
  Workload::NamedStage stage{.name = "stage" + std::to_string(number),
                             .make = [number] { return std::make_unique<CascadeStage>(number); },
                             .needs = {}};
  if (number > 1)
    stage.needs.push_back({.stage = "stage" + std::to_string(number - 1), .use = Need::Use::keeps});
  return stage;
}

}  // namespace

Workload make_workload() {
  return {"xray_to_ct", {cascade_stage(1), cascade_stage(2), cascade_stage(3)}, guide_flags(), guide_files()};
}

}  // namespace larmor::xray_to_ct
