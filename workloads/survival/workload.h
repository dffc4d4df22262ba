// Survival of volumes: from an image to how soon an event is to be expected.
#pragma once

#include <memory>

#include "larmor/train/workload.h"

namespace larmor::survival {

std::unique_ptr<Workload> make_workload();

}  // namespace larmor::survival
