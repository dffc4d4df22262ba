// CT volumes from one or two radiographs: a cascade of three diffusion models, each of which refines what the
// one before has made. Sources: Hybrid-ViT-Cascade; Ho et al. 2021 (cascaded diffusion models).
#pragma once

#include "larmor/task/workload.h"

namespace larmor::xray_to_ct {

Workload make_workload();

}  // namespace larmor::xray_to_ct
