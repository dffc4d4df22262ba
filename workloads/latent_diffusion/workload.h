// Latent diffusion of volumes: its stages and their parts.
#pragma once

#include <memory>

#include "larmor/train/workload.h"

namespace larmor::latent_diffusion {

std::unique_ptr<Workload> make_workload();

}  // namespace larmor::latent_diffusion
