// What SLURM granted, for sites that do not enforce it with control groups.
#include <algorithm>

#include "larmor/base/text.h"
#include "larmor/hardware/kernel_file.h"
#include "larmor/hardware/probes.h"

namespace larmor {
namespace {

/// A positive number, or nothing.
std::optional<int64_t> count(const Surroundings& surroundings, const char* name) {
  const auto number = whole_number(surroundings.variable(name).value_or(""));
  return number && *number > 0 ? number : std::nullopt;
}

/// srun gives each task a share. A batch script runs once, with the whole node's cores for all that it
/// starts, although it sees the tasks' variables too.
void limit_cores(const Surroundings& surroundings, Hardware& hardware) {
  const bool in_step = surroundings.variable("SLURM_STEP_ID").has_value();
  const auto of_task = count(surroundings, "SLURM_CPUS_PER_TASK");
  const auto of_node = count(surroundings, "SLURM_CPUS_ON_NODE");
  const bool is_task = in_step || !of_node;
  const auto granted = is_task ? of_task : of_node;
  if (!granted) return;
  const int allowed = static_cast<int>(hardware.cores.size());
  hardware.slurm_cpus_per_task = static_cast<int>(std::min<int64_t>(*granted, 1 << 20));
  if (*granted < allowed) {
    hardware.notes.push_back(text("SLURM: ", *granted, is_task ? " cores a task" : " cores of this node",
                                  ", of ", hardware.machine_cores));
  }
}

void limit_memory(const Surroundings& surroundings, Hardware& hardware) {
  constexpr uint64_t mebibyte = uint64_t{1} << 20;
  auto mebibytes = count(surroundings, "SLURM_MEM_PER_NODE");  // 0 stands for all of the node
  const auto per_core = count(surroundings, "SLURM_MEM_PER_CPU");
  if (!mebibytes && per_core) {
    const auto cores = count(surroundings, "SLURM_CPUS_ON_NODE");
    mebibytes = *per_core * cores.value_or(hardware.usable_cores());
  }
  if (!mebibytes) return;
  const uint64_t granted = static_cast<uint64_t>(*mebibytes) * mebibyte;
  if (granted >= hardware.memory_limit_bytes) return;
  hardware.memory_limit_bytes = granted;
  hardware.memory_available_bytes = std::min(hardware.memory_available_bytes, granted);
  hardware.notes.push_back(
      text("SLURM: ", human_bytes(granted), " of ", human_bytes(hardware.memory_bytes), " memory"));
}

}  // namespace

void probe_slurm(const Surroundings& surroundings, Hardware& hardware) {
  limit_cores(surroundings, hardware);
  limit_memory(surroundings, hardware);
}

}  // namespace larmor
