#include "larmor/base/json.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "larmor/base/error.h"
#include "larmor/base/text.h"
#include "larmor/hardware/hardware.h"
#include "larmor/hardware/json_member.h"

namespace larmor {
namespace {

constexpr int64_t format = 1;
constexpr const char* place = "hardware.json";

constexpr std::array<const char*, 3> compute_modes{"shared", "exclusive", "prohibited"};

Json to_json(const Gpu& gpu) {
  return {{"index", gpu.index},
          {"name", gpu.name},
          {"memory_bytes", gpu.memory_bytes},
          {"free_bytes", gpu.free_bytes},
          {"capability", {gpu.capability_major, gpu.capability_minor}},
          {"numa_node", gpu.numa_node},
          {"uuid", gpu.uuid},
          {"mig", gpu.is_sliced},
          {"compute_mode", compute_modes[static_cast<size_t>(gpu.compute_mode)]},
          {"processes", gpu.processes}};
}

Gpu gpu_from_json(const Json& json, int position) {
  const std::string where = text(place, ": gpus[", position, "]");
  const JsonMembers members(json, where);
  members.refuse_others({"index", "name", "memory_bytes", "free_bytes", "capability", "numa_node", "uuid",
                         "mig", "compute_mode", "processes"});
  Gpu gpu;
  gpu.index = position;
  members.read_if_present("index", gpu.index);
  members.read_if_present("name", gpu.name);
  members.read("memory_bytes", gpu.memory_bytes);
  gpu.free_bytes = gpu.memory_bytes;  // a profile written by hand describes an idle card
  members.read_if_present("free_bytes", gpu.free_bytes);
  std::vector<int> capability;
  members.read("capability", capability);
  if (capability.size() != 2)
    fail(Exit::usage, text(where, ": capability must be two numbers, such as [8, 0]"));
  gpu.capability_major = capability[0];
  gpu.capability_minor = capability[1];
  members.read_if_present("numa_node", gpu.numa_node);
  members.read_if_present("uuid", gpu.uuid);
  members.read_if_present("mig", gpu.is_sliced);
  members.read_if_present("processes", gpu.processes);
  std::string mode = compute_modes.front();
  members.read_if_present("compute_mode", mode);
  const auto known = std::ranges::find(compute_modes, mode);
  if (known == compute_modes.end())
    fail(Exit::usage, text(where, ": compute_mode cannot be ", mode), "say shared, exclusive or prohibited");
  gpu.compute_mode = static_cast<ComputeMode>(known - compute_modes.begin());
  return gpu;
}

void read_cores(const JsonMembers& members, Hardware& hardware) {
  if (members.has("cores") && members.at("cores").is_number()) {
    int count = 0;
    members.read("cores", count);
    if (count < 1 || count > 1 << 16) fail(Exit::usage, text(place, ": cores cannot be ", count));
    hardware.cores.resize(static_cast<size_t>(count));
    std::iota(hardware.cores.begin(), hardware.cores.end(), 0);
  } else {
    members.read_if_present("cores", hardware.cores);
  }
  for (const int core : hardware.cores) {
    if (core < 0) fail(Exit::usage, text(place, ": cores holds ", core));
  }
  const int cores = static_cast<int>(hardware.cores.size());
  hardware.machine_cores = cores;
  hardware.physical_cores = cores;
  members.read_if_present("machine_cores", hardware.machine_cores);
  members.read_if_present("physical_cores", hardware.physical_cores);
  members.read_if_present("numa_of_core", hardware.numa_of_core);
  members.read_if_present("physical_of_core", hardware.physical_of_core);
  for (const auto& [key, list] : {std::pair("numa_of_core", &hardware.numa_of_core),
                                  std::pair("physical_of_core", &hardware.physical_of_core)}) {
    if (list->empty() || list->size() == hardware.cores.size()) continue;
    fail(Exit::usage, text(place, ": ", key, " has ", list->size(), " entries for ", cores, " cores"));
  }
}

void read_memory(const JsonMembers& members, Hardware& hardware) {
  members.read_if_present("memory_bytes", hardware.memory_bytes);
  hardware.memory_limit_bytes = hardware.memory_bytes;
  members.read_if_present("memory_limit_bytes", hardware.memory_limit_bytes);
  hardware.memory_available_bytes = hardware.memory_limit_bytes;
  members.read_if_present("memory_available_bytes", hardware.memory_available_bytes);
  members.read_if_present("shm_bytes", hardware.shm_bytes);
  members.read_if_present("disk_free_bytes", hardware.disk_free_bytes);
}

}  // namespace

Json to_json(const Hardware& hardware) {
  Json json = {{"format", format},
               {"host", hardware.host},
               {"hosts", hardware.hosts},
               {"cpu_name", hardware.cpu_name},
               {"machine_cores", hardware.machine_cores},
               {"cores", hardware.cores},
               {"cpu_quota", hardware.cpu_quota},
               {"free_cores", nullptr},
               {"free_cores_now", nullptr},
               {"measured_on", hardware.measured_on},
               {"physical_cores", hardware.physical_cores},
               {"numa_of_core", hardware.numa_of_core},
               {"physical_of_core", hardware.physical_of_core},
               {"has_avx2", hardware.has_avx2},
               {"has_avx512", hardware.has_avx512},
               {"has_amx_bf16", hardware.has_amx_bf16},
               {"computes_bf16", nullptr},
               {"bf16_speedup", hardware.bf16_speedup},
               {"cpu_kernels", hardware.cpu_kernels},
               {"memory_bytes", hardware.memory_bytes},
               {"memory_limit_bytes", hardware.memory_limit_bytes},
               {"memory_available_bytes", hardware.memory_available_bytes},
               {"shm_bytes", hardware.shm_bytes},
               {"disk_free_bytes", hardware.disk_free_bytes},
               {"slurm_cpus_per_task", nullptr},
               {"gpus", Json::array()},
               {"no_gpus", hardware.no_gpus},
               {"segments_grow", nullptr},
               {"driver_version", hardware.driver_version},
               {"notes", hardware.notes}};
  if (hardware.slurm_cpus_per_task) json["slurm_cpus_per_task"] = *hardware.slurm_cpus_per_task;
  if (hardware.free_cores) json["free_cores"] = *hardware.free_cores;
  if (hardware.free_cores_now) json["free_cores_now"] = *hardware.free_cores_now;
  if (hardware.computes_bf16) json["computes_bf16"] = *hardware.computes_bf16;
  if (hardware.segments_grow) json["segments_grow"] = *hardware.segments_grow;
  for (const Gpu& gpu : hardware.gpus) json["gpus"].push_back(to_json(gpu));
  return json;
}

Hardware hardware_from_json(const Json& json) {
  const JsonMembers members(json, place);
  std::vector<std::string> known;
  const Json example = to_json(Hardware{});
  for (const auto& item : example.items()) known.push_back(item.key());
  members.refuse_others(known);
  int64_t version = format;
  members.read_if_present("format", version);
  if (version != format)
    fail(Exit::usage, text(place, ": format ", version, " is not known; this is ", format));

  Hardware hardware;
  members.read_if_present("host", hardware.host);
  members.read_if_present("hosts", hardware.hosts);
  if (hardware.hosts < 1) fail(Exit::usage, text(place, ": hosts cannot be ", hardware.hosts));
  members.read_if_present("cpu_name", hardware.cpu_name);
  read_cores(members, hardware);
  members.read_if_present("cpu_quota", hardware.cpu_quota);
  members.read_if_told("free_cores", hardware.free_cores);
  members.read_if_told("free_cores_now", hardware.free_cores_now);
  members.read_if_present("measured_on", hardware.measured_on);
  members.read_if_present("has_avx2", hardware.has_avx2);
  members.read_if_present("has_avx512", hardware.has_avx512);
  members.read_if_present("has_amx_bf16", hardware.has_amx_bf16);
  members.read_if_told("computes_bf16", hardware.computes_bf16);
  members.read_if_present("bf16_speedup", hardware.bf16_speedup);
  members.read_if_present("cpu_kernels", hardware.cpu_kernels);
  read_memory(members, hardware);
  members.read_if_told("slurm_cpus_per_task", hardware.slurm_cpus_per_task);
  if (members.has("gpus")) {
    const Json& gpus = members.at("gpus");
    if (!gpus.is_array()) fail(Exit::usage, text(place, ": gpus must be a list, found ", gpus.type_name()));
    for (const Json& gpu : gpus) {
      const Gpu added = gpu_from_json(gpu, static_cast<int>(hardware.gpus.size()));
      for (const Gpu& other : hardware.gpus) {
        if (other.index == added.index)
          fail(Exit::usage, text(place, ": two gpus have the index ", added.index));
      }
      hardware.gpus.push_back(added);
    }
  }
  members.read_if_told("segments_grow", hardware.segments_grow);
  members.read_if_present("no_gpus", hardware.no_gpus);
  members.read_if_present("driver_version", hardware.driver_version);
  members.read_if_present("notes", hardware.notes);
  return hardware;
}

}  // namespace larmor
