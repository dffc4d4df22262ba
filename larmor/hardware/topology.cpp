// Which logical cores share a physical one, and which memory they are near to.
#include <memory>
#include <set>
#include <type_traits>

#include <hwloc.h>

#include "larmor/hardware/probes.h"

namespace larmor {
namespace {

using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, decltype(&hwloc_topology_destroy)>;

Topology load_topology(const std::string& synthetic) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {nullptr, &hwloc_topology_destroy};
  Topology topology(raw, &hwloc_topology_destroy);
  if (!synthetic.empty() && hwloc_topology_set_synthetic(raw, synthetic.c_str()) != 0) topology.reset();
  if (topology && hwloc_topology_load(raw) != 0) topology.reset();
  return topology;
}

}  // namespace

void probe_topology(const Surroundings& surroundings, Hardware& hardware) {
  hardware.physical_cores = static_cast<int>(hardware.cores.size());
  const Topology topology = load_topology(surroundings.sources.topology);
  if (!topology) return;
  std::vector<int> numa, physical;
  for (const int core : hardware.cores) {
    const hwloc_obj_t unit = hwloc_get_pu_obj_by_os_index(topology.get(), static_cast<unsigned>(core));
    if (unit == nullptr) return;  // not this machine's cores: unknown is better than half known
    const hwloc_obj_t owner = hwloc_get_ancestor_obj_by_type(topology.get(), HWLOC_OBJ_CORE, unit);
    numa.push_back(unit->nodeset == nullptr ? 0 : hwloc_bitmap_first(unit->nodeset));
    physical.push_back(owner == nullptr ? core : static_cast<int>(owner->logical_index));
  }
  hardware.physical_cores = static_cast<int>(std::set<int>(physical.begin(), physical.end()).size());
  hardware.numa_of_core = std::move(numa);
  hardware.physical_of_core = std::move(physical);
}

}  // namespace larmor
