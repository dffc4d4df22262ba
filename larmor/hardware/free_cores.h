// How much of the cores nobody uses, by what the kernel counts over a short while.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "larmor/hardware/hardware.h"

namespace larmor {

/// The time of one core since the machine started, in the kernel's ticks.
struct CoreTicks {
  int64_t idle = 0, all = 0;
};

/// The ticks of each core of a /proc/stat.
std::map<int, CoreTicks> core_ticks(std::string_view statistics);

/// The part of the time between the two, for which `cores` were idle, in cores. Nothing where the kernel says
/// nothing of one of them, or has counted nothing meanwhile.
std::optional<double> free_between(const std::map<int, CoreTicks>& before,
                                   const std::map<int, CoreTicks>& after, const std::vector<int>& cores);

/// `hardware.free_cores`, over a fifth of a second in which this thread sleeps: other work of this process
/// would count. LARMOR_FREE_CORES (a number, or all) answers in its place. Returns whether it was counted.
/// Throws Error (usage) where that variable is neither. Blocks.
bool measure_free_cores(const HardwareSources& sources, Hardware& hardware);

}  // namespace larmor
