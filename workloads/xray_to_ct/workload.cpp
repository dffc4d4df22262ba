#include "workloads/xray_to_ct/workload.h"

#include <memory>

#include "workloads/xray_to_ct/stage/cascade_stage.h"

namespace larmor::xray_to_ct {
namespace {

/// Of the guide's scripts.
ForeignFlags cascade_flags() {
  return {
      {"checkpoint_dir", "say `run.folder=`"},
      {"checkpoint-dir", "say `run.folder=`"},
      {"resume_from", "`larmor train RUN` goes on with a run; the next stage takes `from.stage2=RUN#best`"},
      {"method", "leave it out: agents start the ranks, behind torchrun and Accelerate as well"},
      {"num_samples", "say `--table CASES.csv` with a case a row"},
      {"num_steps", "say `model.sampling.num_inference_steps=`"},
      {"data_dir", "say `data.folder=`"}};
}

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
  return {"xray_to_ct", {cascade_stage(1), cascade_stage(2), cascade_stage(3)}, cascade_flags()};
}

}  // namespace larmor::xray_to_ct
