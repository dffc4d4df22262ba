#include "larmor/hardware/hardware.h"

#include <algorithm>
#include <string>
#include <utility>

#include <unistd.h>

#include "larmor/base/process/process.h"
#include "larmor/hardware/allocator_settings.h"
#include "larmor/hardware/probes.h"

namespace larmor {
namespace {

std::map<std::string, std::string> own_environment() {
  std::map<std::string, std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string line = *entry;
    const size_t equals = line.find('=');
    if (equals != std::string::npos) environment.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return environment;
}

}  // namespace

int Hardware::usable_cores() const {
  int usable = static_cast<int>(cores.size());
  if (cpu_quota > 0 && cpu_quota < usable) usable = static_cast<int>(cpu_quota);
  if (slurm_cpus_per_task) usable = std::min(usable, *slurm_cpus_per_task);
  return std::max(usable, 1);
}

uint64_t Hardware::free_memory_bytes() const {
  return memory_available_bytes == 0 ? memory_limit_bytes
                                     : std::min(memory_limit_bytes, memory_available_bytes);
}

Surroundings surroundings_of(const HardwareSources& sources) {
  return {sources, sources.environment ? *sources.environment : own_environment()};
}

Hardware detect_hardware(const HardwareSources& sources) {
  Hardware hardware;
  hardware.host = host_name();
  const Surroundings surroundings = surroundings_of(sources);
  probe_cpu(surroundings, hardware);
  probe_topology(surroundings, hardware);
  probe_memory(surroundings, hardware);
  probe_slurm(surroundings, hardware);
  probe_gpus(surroundings, hardware);
  hardware.segments_grow = segments_grow_by(surroundings.environment);
  return hardware;
}

}  // namespace larmor
