#include "larmor/train/machine.h"

#include <cstdlib>

#include "larmor/base/text.h"
#include "larmor/device/cpu_ability.h"
#include "larmor/device/device.h"
#include "larmor/hardware/free_cores.h"

namespace larmor {

Hardware detect_machine(const HardwareSources& sources) {
  Hardware hardware = detect_hardware(sources);
  measure_free_cores(sources, hardware);
  hardware.computes_bf16 = one_dnn_computes(c10::kBFloat16);
  hardware.cpu_kernels = cpu_capability();
  for (const char* const limit : {"ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"}) {
    const char* const value = std::getenv(limit);
    if (value != nullptr && *value != '\0') hardware.notes.push_back(text(limit, " is ", value));
  }
  return hardware;
}

}  // namespace larmor
