// What the scripts and files of the autoencoder guide say, in larmor's words.
#pragma once

#include "larmor/task/workload.h"

namespace larmor::latent_diffusion {

GuideFiles guide_files();

}  // namespace larmor::latent_diffusion
