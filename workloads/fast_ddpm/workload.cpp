#include "workloads/fast_ddpm/workload.h"

#include <memory>

#include "workloads/fast_ddpm/denoiser/denoiser_stage.h"

namespace larmor::fast_ddpm {
namespace {

/// Of the guide's scripts and of the paper's.
ForeignFlags fast_ddpm_flags() {
  return {{"timesteps", "say `model.sampling.timesteps=`"},
          {"scheduler-type",
           "say `model.sampling.scheduler_type=uniform` (the paper's list), `uniform_from_zero` (the 3-D "
           "fork's) or "
           "`non_uniform`"},
          {"scheduler",
           "say `model.sampling.scheduler_type=uniform` (the paper's list), `uniform_from_zero` (the 3-D "
           "fork's) or "
           "`non_uniform`"},
          {"sample-type", "say `model.sampling.sampler=generalized` or `ddpm_noisy`"},
          {"eta", "say `model.sampling.eta=`"},
          {"exp", "say `run.folder=`"},
          {"gpu", "say `--ranks 0,` with the number of the device, or `--device cpu`"},
          {"resume-path", "say `--resume CHECKPOINT`, or `larmor train RUN`"},
          {"resume-training", "say `larmor train RUN`"},
          {"debug", "say `-c debug`"},
          {"log-every-n-steps", "leave it out: every step stands in events.jsonl"},
          {"sample-every", "say `track.pictures_every=2000st`"},
          {"dist-url", "leave it out: agents find one another, or say --master-addr HOST"},
          {"dist-backend", "say `--device cpu` or `--device cuda`: the backend follows"},
          {"port", "say `--master-port`"},
          {"sync-batchnorm",
           "leave it out: this network has no batch norm, its group norms know one example each"},
          {"checkpoint", "`larmor predict RUN`, or RUN#best, takes it"},
          {"input-dir", "`larmor predict RUN --table CASES.csv`, with a column for each modality"},
          {"target-modality", "`larmor predict RUN --input target=t1c`"},
          {"dataset", "say `data.folder=`"},
          {"sample", "`larmor predict RUN` samples"},
          {"image-folder", "`larmor predict RUN --output FOLDER`"},
          {"fid", "`larmor evaluate RUN` gives PSNR, SSIM and errors inside the brain"},
          {"ni", "leave it out: nothing is asked"}};
}

}  // namespace

Workload make_workload() {
  return {"fast_ddpm",
          {{.name = "denoiser", .make = [] { return std::make_unique<DenoiserStage>(); }}},
          fast_ddpm_flags()};
}

}  // namespace larmor::fast_ddpm
