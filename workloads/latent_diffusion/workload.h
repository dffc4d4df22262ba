// Latent diffusion of volumes: its stages.
#pragma once

#include "larmor/task/workload.h"

namespace larmor::latent_diffusion {

Workload make_workload();

}  // namespace larmor::latent_diffusion
