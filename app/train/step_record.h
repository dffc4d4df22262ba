// How long a step of a configuration takes on this machine, as a trial has measured it.
#pragma once

#include <optional>

#include "larmor/config/load.h"
#include "larmor/measure/machine_record.h"
#include "larmor/plan/plan.h"

namespace larmor::app {

/// The duration, in milliseconds; of the same configuration, batch, ranks, precision and strategy.
std::optional<Measure> kept_step(const LoadedConfig& config, const Plan& plan);
void keep_step(const LoadedConfig& config, const Plan& plan, double milliseconds);

}  // namespace larmor::app
