// Survival of volumes: from an image to how soon an event is to be expected.
#pragma once

#include "larmor/task/workload.h"

namespace larmor::survival {

Workload make_workload();

}  // namespace larmor::survival
