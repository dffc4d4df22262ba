#include "larmor/run/machine.h"

#include <algorithm>
#include <cstdlib>

#include "larmor/base/text.h"
#include "larmor/device/cpu_ability.h"
#include "larmor/device/device.h"
#include "larmor/hardware/free_cores.h"
#include "larmor/measure/bf16_probe.h"

namespace larmor {

Hardware detect_machine(const HardwareSources& sources) {
  Hardware hardware = detect_hardware(sources);
  measure_cores(sources, machine_record(), hardware);
  hardware.computes_bf16 = one_dnn_computes(c10::kBFloat16);
  hardware.cpu_kernels = cpu_capability();
  for (const char* const limit : {"ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"}) {
    const char* const value = std::getenv(limit);
    if (value != nullptr && *value != '\0') hardware.notes.push_back(text(limit, " is ", value));
  }
  return hardware;
}

void measure_cores(const HardwareSources& sources, const MachineRecord& record, Hardware& hardware) {
  if (!measure_free_cores(sources, hardware) || hardware.cores.empty()) return;
  // A job may have other cores next time, so a share of them is kept.
  const auto cores = static_cast<double>(hardware.cores.size());
  hardware.free_cores_now = hardware.free_cores;
  const auto share = record.kept_or("free_share", [&] { return *hardware.free_cores / cores; });
  hardware.free_cores = std::clamp(share.value, 0.0, 1.0) * cores;
  hardware.measured_on = share.day;
}

double bf16_speedup_of_machine(const MachineRecord& record) {
  return record.kept_or(bf16_measure, measured_bf16_speedup).value;
}

}  // namespace larmor
