#include "workloads/xray_to_ct/workload.h"

#include <memory>

#include "larmor/base/text.h"

#include "workloads/xray_to_ct/guide.h"
#include "workloads/xray_to_ct/stage/cascade_stage.h"

namespace larmor::xray_to_ct {
namespace {

Workload::NamedStage cascade_stage(int64_t number) {
  constexpr int64_t first_edge = 64;
  const int64_t edge = first_edge << (number - 1);
  Workload::NamedStage stage{
      .name = "stage" + std::to_string(number),
      .make = [number] { return std::make_unique<CascadeStage>(number); },
      .needs = {},
      .purpose = text("a CT of ", edge, "³ voxels of one or two radiographs of the chest"),
      .data =
          "pairs of radiographs and CT (data.folder, a folder a patient); "
          "`larmor prepare` makes them of CT scans (data.ct)"};
  if (number > 1) {
    stage.needs.push_back({.stage = "stage" + std::to_string(number - 1), .use = Need::Use::keeps});
    stage.purpose += text(", over what stage", number - 1, " makes");
  }
  return stage;
}

}  // namespace

Workload make_workload() {
  return {
      "xray_to_ct",
      {cascade_stage(1), cascade_stage(2), cascade_stage(3)},
      {.flags = guide_flags(),
       .files = guide_files(),
       .scripts = {"train_accelerate.py", "train_progressive.py", "train_distributed.py", "train_4gpu.sh"}}};
}

}  // namespace larmor::xray_to_ct
