// The hardware as `larmor doctor` shows it.
#include <algorithm>
#include <string>
#include <vector>

#include "larmor/base/table.h"
#include "larmor/base/text.h"
#include "larmor/plan/phrases.h"
#include "larmor/plan/plan.h"

namespace larmor {
namespace {

/// Sizes are unknown where they are 0: a machine has some of each.
std::string size_text(uint64_t bytes) { return bytes == 0 ? "unknown" : human_bytes(bytes); }

void add_gpus(const Hardware& hardware, Table& table) {
  if (hardware.gpus.empty()) {
    table.add(
        {"GPUs", text("none", hardware.driver_version.empty()
                                  ? ""
                                  : text(", although the driver ", hardware.driver_version, " is there"))});
    return;
  }
  uint64_t together = 0, least = hardware.gpus.front().memory_bytes;
  for (const Gpu& gpu : hardware.gpus) {
    together += gpu.memory_bytes;
    least = std::min(least, gpu.memory_bytes);
  }
  table.add({"GPUs", text(hardware.gpus.size(), ", ", size_text(together), " together, the smallest ",
                          size_text(least), ", driver ",
                          hardware.driver_version.empty() ? "unknown" : hardware.driver_version)});
  Table cards;
  for (const Gpu& gpu : hardware.gpus) {
    cards.add({gpu.name.empty() ? "unnamed" : gpu.name, size_text(gpu.memory_bytes),
               text("(free ", human_bytes(gpu.free_bytes), ")"), text("compute ", capability_text(gpu)),
               gpu.numa_node < 0 ? "" : text("memory node ", gpu.numa_node)});
  }
  std::vector<std::string> lines = split(cards.to_text(0), '\n');
  for (size_t i = 0; i < hardware.gpus.size(); ++i) {
    const size_t end = lines[i].find_last_not_of(' ') + 1;
    table.add({text("GPU ", hardware.gpus[i].index), lines[i].substr(0, end)});
  }
}

/// What of the cores a plan counts on, and how many of them nobody uses at the moment.
std::string free_text(const Hardware& hardware) {
  if (!hardware.free_cores) return "";
  const std::string counted = text(", ", fixed(*hardware.free_cores, 1), " free");
  if (hardware.measured_on.empty()) return text(counted, " now");
  return text(counted, " when measured on ", hardware.measured_on,
              hardware.free_cores_now ? text(", ", fixed(*hardware.free_cores_now, 1), " now") : "");
}

std::string processor_text(const Hardware& hardware) {
  std::vector<std::string> abilities;
  if (hardware.has_avx2) abilities.emplace_back("AVX2");
  if (hardware.has_avx512) abilities.emplace_back("AVX-512");
  if (hardware.has_amx_bf16) abilities.emplace_back("AMX bf16");
  const std::string name = hardware.cpu_name.empty() ? "unnamed" : hardware.cpu_name;
  return abilities.empty() ? name : text(name, " (", join(abilities, ", "), ")");
}

/// What larmor and libtorch make of it: types, and the width of vectors for which their loops were compiled.
std::string computing_text(const Hardware& hardware) {
  const std::string types = !hardware.computes_bf16 ? "fp32"
                            : *hardware.computes_bf16
                                ? "fp32 and bf16"
                                : "fp32; bf16 takes AVX-512 (BW, DQ and VL) or AVX-NE-CONVERT";
  if (hardware.cpu_kernels.empty()) return types;
  const std::string kernels = hardware.cpu_kernels == "AVX512" ? "AVX-512"
                              : hardware.cpu_kernels == "AVX2"
                                  ? "AVX2"
                                  : "any CPU, several times as slow as with AVX2";
  return text(types, "; kernels for ", kernels);
}

std::string cores_text(const Hardware& hardware) {
  std::vector<int> nodes = hardware.numa_of_core;
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  const auto count = static_cast<int64_t>(nodes.size());
  return text(hardware.usable_cores(), " of ", hardware.machine_cores, " usable, ", hardware.physical_cores,
              " physical", free_text(hardware),
              count > 1 ? text(", on ", counted(count, "memory node")) : "");
}

std::string memory_text(const Hardware& hardware) {
  if (hardware.memory_bytes == 0) return "unknown";
  const bool is_limited = hardware.memory_limit_bytes < hardware.memory_bytes;
  return text(human_bytes(hardware.memory_limit_bytes),
              is_limited ? text(" of the machine's ", human_bytes(hardware.memory_bytes)) : "", " (free ",
              human_bytes(hardware.memory_available_bytes), ")");
}

}  // namespace

std::string describe(const Hardware& hardware) {
  Table table;
  if (!hardware.host.empty()) table.add({"host", hardware.host});
  add_gpus(hardware, table);
  table.add({"CPU", processor_text(hardware)});
  if (hardware.computes_bf16 || !hardware.cpu_kernels.empty())
    table.add({"computes", computing_text(hardware)});
  table.add({"cores", cores_text(hardware)});
  table.add({"memory", memory_text(hardware)});
  table.add({"/dev/shm", text(human_bytes(hardware.shm_bytes), " free")});
  table.add({"disk", text(human_bytes(hardware.disk_free_bytes), " free where runs go")});
  for (const std::string& note : hardware.notes) table.add({"note", note});
  return text("hardware\n", table.to_text(2));
}

}  // namespace larmor
