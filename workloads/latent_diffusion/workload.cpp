#include "workloads/latent_diffusion/workload.h"

#include <memory>
#include <string>

#include "workloads/latent_diffusion/autoencoder/autoencoder_stage.h"
#include "workloads/latent_diffusion/diffusion/diffusion_stage.h"
#include "workloads/latent_diffusion/guide.h"

namespace larmor::latent_diffusion {

Workload make_workload() {
  const std::string scans = "volumes: NIfTI (data.folder, or data.list), npz, DICOM, or invented (phantom)";
  return {
      "latent_diffusion",
      {{.name = "autoencoder",
        .make = [] { return std::make_unique<AutoencoderStage>(); },
        .needs = {},
        .purpose = "compresses volumes to latents and rebuilds volumes of them",
        .data = scans},
       {.name = "diffusion",
        .make = [] { return std::make_unique<DiffusionStage>(); },
        .needs = {{.stage = "autoencoder", .use = Need::Use::keeps}},
        .purpose = "invents volumes, or makes one kind of scan of another, in the latents of the autoencoder",
        .data = scans}},
      {.files = guide_files(), .scripts = {"train_autoencoder.py", "train_autoencoder_multigpu.sh"}}};
}

}  // namespace larmor::latent_diffusion
