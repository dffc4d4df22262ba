// The plan of a run on the machine of today: of a new one, and of one that goes on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "larmor/config/load.h"
#include "larmor/hardware/hardware.h"
#include "larmor/plan/plan.h"
#include "larmor/run/run_change.h"

namespace larmor {

Hardware hardware_for(const std::filesystem::path& run_folder);

/// Whether the CPU may be the device, and the precision is for the plan to choose.
bool asks_what_bf16_gains(const Hardware& hardware, const RunConfig& config);

/// A plan for this machine and this build.
Plan plan_here(const Hardware& hardware, const Demand& demand, const RunConfig& config);

/// The plan of a run that goes on: memory, cores, devices and hosts are today's. The stored plan's batches,
/// threads and ranks stay while today's machine holds them; otherwise `changes` gets what is another now.
/// Throws as make_plan(), so where a smaller micro-batch would change the result.
Plan plan_again(const Plan& stored, const Hardware& hardware, const Demand& demand,
                const LoadedConfig& loaded, std::vector<RunChange>& changes);

/// The global batch is part of the run.
void check_batch(const RunConfig& config, const Plan& plan);

}  // namespace larmor
