#include "workloads/xray_vqa/workload.h"

#include <memory>

#include "workloads/xray_vqa/training/vqa_stage.h"

namespace larmor::xray_vqa {
namespace {

/// Of the guide's scripts.
ForeignFlags vqa_flags() {
  return {{"mimic-cxr-path", "say `data.folder=`"},
          {"mimic-qa-path", "say `data.questions=`"},
          {"batch-size", "say `train.micro_batch=`, or `train.global_batch=` for all GPUs together"},
          {"gradient-accumulation-steps", "say `train.accumulation=`"},
          {"auto-optimize", "leave it out: the plan is made for the machine, or say `plan.profile=guide`"},
          {"no-auto-optimize", "say `train.micro_batch=`, `train.accumulation=` and `parallel.strategy=`"},
          {"use-deepspeed", "say `parallel.strategy=zero2`"},
          {"use-ddp", "say `parallel.strategy=ddp`"},
          {"deepspeed", "say `parallel.strategy=zero2`"},
          {"torchrun", "say `parallel.strategy=ddp`"},
          {"no-auto", "say `train.micro_batch=`, `train.accumulation=` and `parallel.strategy=`"},
          {"debug", "say `-c tiny`"},
          {"hub-model-id", "leave it out: a run folder is copied as it is"},
          {"wandb-project", "leave it out: events.jsonl and tb/ hold what is tracked"},
          {"disable-wandb", "leave it out: nothing is sent anywhere"},
          {"skip-data-check", "leave it out, or say `data.bad_files=` for how many bad files are borne"}};
}

}  // namespace

Workload make_workload() {
  const auto make = [] { return std::make_unique<VqaStage>(); };
  return {
      "xray_vqa",
      {{.name = "pretrain", .make = make},
       {.name = "finetune", .make = make, .needs = {{.stage = "pretrain", .use = Need::Use::starts_from}}}},
      vqa_flags()};
}

}  // namespace larmor::xray_vqa
