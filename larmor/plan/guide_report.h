// What the script of the auto-optimisation guide prints of a machine, from what is here and what is planned.
#pragma once

#include <string>

#include "larmor/hardware/hardware.h"
#include "larmor/plan/plan.h"

namespace larmor {

/// The guide's block of 70 columns: GPUs, CPU, memory, and the settings of a training.
std::string guide_report(const Hardware& hardware, const Plan& plan);

}  // namespace larmor
