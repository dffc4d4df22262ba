// Cores: which ones the kernel lets this process run on, and how much of their time its control group grants.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include <sched.h>

#include "larmor/base/text.h"
#include "larmor/hardware/control_group.h"
#include "larmor/hardware/kernel_file.h"
#include "larmor/hardware/probes.h"

namespace larmor {
namespace {

std::vector<int> kernel_affinity() {
  // The kernel refuses a set smaller than its own, and does not say how large that is.
  for (int capacity = 1024; capacity <= 1 << 20; capacity *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(capacity),
                                                               [](cpu_set_t* own) { CPU_FREE(own); });
    const size_t bytes = CPU_ALLOC_SIZE(capacity);
    if (sched_getaffinity(0, bytes, set.get()) != 0) continue;
    std::vector<int> cores;
    for (int core = 0; core < capacity; ++core) {
      if (CPU_ISSET_S(core, bytes, set.get())) cores.push_back(core);
    }
    return cores;
  }
  return {};
}

void read_cpuinfo(std::string_view cpuinfo, Hardware& hardware) {
  for (const std::string& line : split(cpuinfo, '\n')) {
    if (line.starts_with("processor")) ++hardware.machine_cores;
  }
  hardware.cpu_name = table_value(cpuinfo, "model name");
  const std::vector<std::string> flags = split(table_value(cpuinfo, "flags"), ' ');
  const auto has = [&flags](std::string_view flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  hardware.has_avx2 = has("avx2");
  hardware.has_avx512 = has("avx512f");
  hardware.has_amx_bf16 = has("amx_bf16");
}

/// Cores' worth of time; 0 = no limit.
double folder_quota(const std::filesystem::path& folder, int version) {
  std::string quota_text, period_text;
  if (version == 2) {
    const std::vector<std::string> words =
        split(trim(read_kernel_file(folder / "cpu.max").value_or("")), ' ');
    if (words.size() != 2) return 0;
    quota_text = words[0];
    period_text = words[1];
  } else {
    quota_text = read_kernel_file(folder / "cpu.cfs_quota_us").value_or("");
    period_text = read_kernel_file(folder / "cpu.cfs_period_us").value_or("");
  }
  // "max" and -1 stand for no limit.
  const int64_t quota = whole_number(quota_text).value_or(0);
  const int64_t period = whole_number(period_text).value_or(0);
  return quota > 0 && period > 0 ? static_cast<double>(quota) / static_cast<double>(period) : 0;
}

}  // namespace

void probe_cpu(const Surroundings& surroundings, Hardware& hardware) {
  const std::filesystem::path& root = surroundings.sources.root;
  read_cpuinfo(read_kernel_file(root / "proc/cpuinfo").value_or(""), hardware);
  hardware.cores = surroundings.sources.affinity ? *surroundings.sources.affinity : kernel_affinity();
  const int allowed = static_cast<int>(hardware.cores.size());
  hardware.machine_cores = std::max(hardware.machine_cores, allowed);
  if (allowed < hardware.machine_cores) {
    hardware.notes.push_back(text("affinity: ", allowed, " of ", hardware.machine_cores, " cores"));
  }

  const ControlGroup group = find_control_group(root, "cpu");
  for (const std::filesystem::path& folder : group.folders) {
    const double quota = folder_quota(folder, group.version);
    if (quota > 0 && (hardware.cpu_quota == 0 || quota < hardware.cpu_quota)) hardware.cpu_quota = quota;
  }
  if (hardware.cpu_quota > 0) {
    hardware.notes.push_back(text("cgroup v", group.version, ": ", fixed(hardware.cpu_quota, 1), " of ",
                                  hardware.machine_cores, " cores"));
  }
}

}  // namespace larmor
