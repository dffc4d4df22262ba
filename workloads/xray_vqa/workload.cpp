#include "workloads/xray_vqa/workload.h"

#include <memory>

#include "workloads/xray_vqa/guide.h"
#include "workloads/xray_vqa/training/vqa_stage.h"

namespace larmor::xray_vqa {
Workload make_workload() {
  const auto make = [] { return std::make_unique<VqaStage>(); };
  return {
      "xray_vqa",
      {{.name = "pretrain", .make = make},
       {.name = "finetune", .make = make, .needs = {{.stage = "pretrain", .use = Need::Use::starts_from}}}},
      guide_flags(),
      guide_files()};
}

}  // namespace larmor::xray_vqa
