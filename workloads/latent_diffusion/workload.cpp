#include "workloads/latent_diffusion/workload.h"

#include <memory>

#include "workloads/latent_diffusion/autoencoder/autoencoder_stage.h"
#include "workloads/latent_diffusion/diffusion/diffusion_stage.h"
#include "workloads/latent_diffusion/guide.h"

namespace larmor::latent_diffusion {

Workload make_workload() {
  return {"latent_diffusion",
          {{.name = "autoencoder", .make = [] { return std::make_unique<AutoencoderStage>(); }},
           {.name = "diffusion",
            .make = [] { return std::make_unique<DiffusionStage>(); },
            .needs = {{.stage = "autoencoder", .use = Need::Use::keeps}}}},
          {},
          guide_files()};
}

}  // namespace larmor::latent_diffusion
