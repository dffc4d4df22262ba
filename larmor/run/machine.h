// The machine as a plan needs it: what it offers, and what libtorch and our kernels make of its CPU.
#pragma once

#include "larmor/hardware/hardware.h"
#include "larmor/measure/machine_record.h"

namespace larmor {

/// detect_hardware(), how much of its cores nobody uses, which takes a fifth of a second, and on its CPU the
/// types and kernels that this process can use. Blocks.
Hardware detect_machine(const HardwareSources& sources = {});

/// `hardware.free_cores` and `measured_on`, as `record` keeps them of this machine, or as they are now and
/// are kept from then on; `hardware.free_cores_now`. LARMOR_FREE_CORES answers in place of the record.
/// Blocks.
void measure_cores(const HardwareSources& sources, const MachineRecord& record, Hardware& hardware);

/// The name under which a record keeps what bf16 gains.
inline constexpr const char* bf16_measure = "bf16_speedup";
/// measured_bf16_speedup() as `record` keeps it of this machine, or as it is now and is kept from then on.
double bf16_speedup_of_machine(const MachineRecord& record);

}  // namespace larmor
