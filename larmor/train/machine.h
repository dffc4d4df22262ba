// The machine as a plan needs it: what it offers, and what libtorch and our kernels make of its CPU.
#pragma once

#include "larmor/hardware/hardware.h"

namespace larmor {

/// detect_hardware(), how much of its cores nobody uses, which takes a fifth of a second, and on its CPU the
/// types and kernels that this process can use. Blocks.
Hardware detect_machine(const HardwareSources& sources = {});

}  // namespace larmor
