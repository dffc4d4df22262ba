// What each source file of this folder finds out. detect_hardware calls them in this order; each adds its
// part to the Hardware, and a note for every limit that it met.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "larmor/hardware/hardware.h"

namespace larmor {

struct Surroundings {
  const HardwareSources& sources;
  std::map<std::string, std::string> environment;

  std::optional<std::string> variable(const std::string& name) const {
    const auto found = environment.find(name);
    return found == environment.end() ? std::nullopt : std::optional(found->second);
  }
  /// The file of NVML.
  std::string nvml_library() const { return variable("LARMOR_NVML").value_or(sources.nvml_library); }
};
/// Borrows `sources`.
Surroundings surroundings_of(const HardwareSources& sources);

void probe_cpu(const Surroundings& surroundings, Hardware& hardware);
/// Requires: `cores` is known.
void probe_topology(const Surroundings& surroundings, Hardware& hardware);
void probe_memory(const Surroundings& surroundings, Hardware& hardware);
/// Requires: cores and memory are known; narrows both.
void probe_slurm(const Surroundings& surroundings, Hardware& hardware);
void probe_gpus(const Surroundings& surroundings, Hardware& hardware);

/// Those of `gpus` that CUDA_VISIBLE_DEVICES lets a process see, in its order, counted anew. The first entry
/// that names no device, or one for the second time, ends the list, as it does for CUDA.
std::vector<Gpu> visible_gpus(const std::vector<Gpu>& gpus, const std::optional<std::string>& visible_devices,
                              std::vector<std::string>& notes);

}  // namespace larmor
