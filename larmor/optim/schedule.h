// The learning rate as a pure function of the step.
#pragma once

#include <cstdint>

#include "larmor/config/run_config.h"

namespace larmor {

/// Schedule lengths in steps.
struct ScheduleSteps {
  int64_t total = 0;
  int64_t warmup = 0;
};

/// The rate to use for step `step` (from 0). constant: always `peak`. warmup_cosine: linear from
/// config.start * peak to peak over the warm-up, then a cosine to config.final_rate at the last step, and
/// there it stays. Throws Error (usage) for another name.
double learning_rate(const ScheduleConfig& config, double peak, const ScheduleSteps& steps, int64_t step);

}  // namespace larmor
