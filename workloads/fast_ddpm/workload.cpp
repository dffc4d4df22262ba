#include "workloads/fast_ddpm/workload.h"

#include <memory>

#include "workloads/fast_ddpm/denoiser/denoiser_stage.h"
#include "workloads/fast_ddpm/guide.h"

namespace larmor::fast_ddpm {
Workload make_workload() {
  return {
      "fast_ddpm",
      {{.name = "denoiser",
        .make = [] { return std::make_unique<DenoiserStage>(); },
        .needs = {},
        .purpose = "generates any of four MR modalities from the other three",
        .data = "heads in several modalities: NIfTI, a folder each, as BraTS 2020, 2021 and 2023 have them"}},
      {.flags = guide_flags(), .files = guide_files(), .scripts = {"train_multi_gpu.py", "train_3d.py"}}};
}

}  // namespace larmor::fast_ddpm
