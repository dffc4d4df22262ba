#include "workloads/xray_vqa/workload.h"

#include <memory>
#include <string>

#include "workloads/xray_vqa/guide.h"
#include "workloads/xray_vqa/training/vqa_stage.h"

namespace larmor::xray_vqa {
Workload make_workload() {
  const auto make = [] { return std::make_unique<VqaStage>(); };
  const std::string radiographs =
      "radiographs of MIMIC-CXR-JPG (data.folder) and MIMIC-Ext-CXR-QBA's questions (data.questions)";
  return {"xray_vqa",
          {{.name = "pretrain",
            .make = make,
            .needs = {},
            .purpose = "answers questions about chest radiographs, learned from very many of them",
            .data = radiographs},
           {.name = "finetune",
            .make = make,
            .needs = {{.stage = "pretrain", .use = Need::Use::starts_from}},
            .purpose = "the same network, learning on from the weights of pretrain with the better questions",
            .data = radiographs}},
          {.flags = guide_flags(), .files = guide_files(), .scripts = {"train_mimic_cxr.py"}}};
}

}  // namespace larmor::xray_vqa
