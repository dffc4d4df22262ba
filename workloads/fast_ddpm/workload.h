// Fast-DDPM in three dimensions: fills in a missing modality of a brain scan. Its stage.
#pragma once

#include "larmor/task/workload.h"

namespace larmor::fast_ddpm {

Workload make_workload();

}  // namespace larmor::fast_ddpm
